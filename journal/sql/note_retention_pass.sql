update retention set last_pass_at = now(), last_pass_seconds = $1::double precision
