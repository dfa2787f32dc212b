select r.report_id, r.kind, r.period_start, r.period_end, r.time_zone, r.created_at,
       coalesce((select json_agg(json_build_object('receiver', d.receiver, 'state', d.state, 'attempts', d.attempts,
                                                   'error', d.error) order by d.receiver)
                 from report_deliveries d where d.report_id = r.report_id), '[]')
from reports r where $1::text is null or r.kind = $1
order by r.period_end desc, r.kind limit $2
