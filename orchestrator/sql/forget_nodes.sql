-- With the places of their streams.
with gone as (
    delete from nodes where lease_until < clock_timestamp() - interval '1 hour' returning node
)
delete from forgotten_events where stream_id in (select node from gone)
