-- Whoever takes some has five minutes for them: should he vanish, they are sent again, under the same id.
with taken as (
    update report_deliveries set next_at = now() + interval '5 minutes', attempts = attempts + 1
    where (report_id, receiver) in (
        select report_id, receiver from report_deliveries where state = 'pending' and next_at <= now()
        order by next_at, report_id, receiver limit 8 for update skip locked)
    returning report_id, receiver, attempts, in_doubt)
select t.report_id, t.receiver, t.attempts, t.in_doubt, r.kind, r.created_at, r.content, r.document
from taken t join reports r using (report_id) order by t.report_id, t.receiver
