select w.provider, w.cooling_until, w.since, w.why, w.learnt, w.grows_at, w.refused_at, w.quota_of, w.quota_left, w.quota_said,
       w.quota_until, w.set_by, w.orders
from provider_weather w join providers p on p.name = w.provider
