update silences set starts_at = least(starts_at, now()), ends_at = now() where silence_id = $1 and ends_at > now() returning silence_id
