-- What somebody is just moving is left to the next look: his transaction keeps nobody else waiting. It comes back with when
-- each was due. A row that was moved after it was read is read again once it is locked, and stays as it is if it waits on.
with due as materialized (
    select timer_id, waiting_token from timers where state = 'waiting' and due_at <= now()
    order by due_at, timer_id limit $1 for update skip locked
)
update timers t set state = 'due' from due where t.timer_id = due.timer_id and t.waiting_token = due.waiting_token
returning t.due_at
