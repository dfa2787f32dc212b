-- plan: for its parameters
select d.delivery_id, coalesce(e.stream_id, '00000000-0000-0000-0000-000000000000'), coalesce(e.seq, 0), coalesce(e.type, ''), d.event_id, d.number, d.at, d.duration_us, d.url, d.address, d.status,
       d.outcome, d.error, d.answer
from outbox_deliveries d left join events e using (event_id)
where d.subscriber_id = $1 and ($2::bigint is null or d.delivery_id < $2)
order by d.delivery_id desc limit $3
