delete from subscribers s
where s.deleted_at is not null and not exists (select from outbox_messages m where m.subscriber_id = s.subscriber_id)
  and not exists (select from outbox_deliveries d where d.subscriber_id = s.subscriber_id)
