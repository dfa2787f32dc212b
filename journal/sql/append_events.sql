-- Events of many streams, each with the number that its locked row gave it.
insert into events (kind, stream_id, seq, organization_id, type, writer, payload)
select t.kind, t.stream_id, t.seq, t.organization_id, t.type, $7, t.payload::json
from unnest($1::text[], $2::uuid[], $3::integer[], $4::text[], $5::text[], $6::text[])
    as t(kind, stream_id, seq, organization_id, type, payload)
