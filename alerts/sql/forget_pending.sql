-- What began to hold, and did not for long enough.
delete from alerts where rule is not null and phase = 'pending' and fingerprint <> all($1::text[])
