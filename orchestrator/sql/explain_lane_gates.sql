-- The gates of a lane until a time that were still closed at another, newest first; of the newest 500 closings.
select g.gate, g.subject, g.detail, g.numbers, case when g.numbers_last::text = '{}' then g.numbers else g.numbers_last end,
       g.opens_at, g.since, g.closed_since, g.ended_at, g.times, g.seen, g.closed_us
from (select * from lane_gates where organization_id = $1 and workflow_type = $2 and since <= $3 order by since desc limit 500) g
where g.ended_at is null or g.ended_at > $4
order by g.since desc limit 50
