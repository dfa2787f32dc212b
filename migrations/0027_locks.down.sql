drop function lock_is_held, release_lock, renew_lock, acquire_lock, check_lock_ttl;
drop table locks;
drop sequence lock_tokens;
