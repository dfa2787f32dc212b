-- Its state is locked first by everybody, then what is said about it.
select t.subscriber_id from subscriber_states t join subscribers s using (subscriber_id)
where s.organization_id = $1 and s.name = $2 and s.deleted_at is null for update of t
