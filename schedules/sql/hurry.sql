-- Somebody may have a lock's row in a long transaction of his own: who asks here is told so soon.
select set_config('lock_timeout', '250ms', true)
