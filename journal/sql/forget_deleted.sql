-- Of subscribers that are deleted: messages and requests first, the last of which takes the subscriber along.
with messages as (
    delete from outbox_messages where ctid = any(array(
        select m.ctid from subscribers s join outbox_messages m using (subscriber_id) where s.deleted_at is not null
        limit 5000))
    returning 1
), requests as (
    delete from outbox_deliveries where ctid = any(array(
        select d.ctid from subscribers s join outbox_deliveries d using (subscriber_id) where s.deleted_at is not null
        limit 5000))
    returning 1
)
select (select count(*) from messages) + (select count(*) from requests)
