select min(due_at) from timers where state = 'waiting'
