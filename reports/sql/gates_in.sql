-- For how long the gates of lanes were closed in [$1, $2). A row is a gate that closed, however often it opened for less
-- than a second between: the part of it that falls into the time counts as it was closed on the whole. $3: of one
-- organization; null: of all.
select organization_id, workflow_type, gate, subject,
       sum(extract(epoch from least(until, $2) - greatest(since, $1)) * share)::double precision as seconds
from (
    select organization_id, workflow_type, gate, subject, since, coalesce(ended_at, now()) as until,
           least(1, case when ended_at is not null then closed_us
                         else closed_us + extract(epoch from now() - closed_since) * 1000000 end
                    / greatest(extract(epoch from coalesce(ended_at, now()) - since) * 1000000, 1)) as share
    from lane_gates
    where since < $2 and (ended_at is null or ended_at > $1) and ($3::text is null or organization_id = $3)
) as closed
group by 1, 2, 3, 4
having sum(extract(epoch from least(until, $2) - greatest(since, $1)) * share) >= 1
order by 5 desc limit 200
