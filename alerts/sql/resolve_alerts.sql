update alerts a set phase = 'resolved', ends_at = r.ends_at, ended_why = r.why
from json_to_recordset($1::json) as r(fingerprint text, ends_at timestamptz, why text)
where a.fingerprint = r.fingerprint and a.phase <> 'resolved'
