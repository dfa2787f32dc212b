delete from permits p using unnest($1::uuid[], $2::integer[]) as u(attempt_id, fence)
where p.attempt_id = u.attempt_id and p.fence = u.fence
