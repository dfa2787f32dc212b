insert into execution_results (execution_id, opening, result_data, error_data, items, sanitised, peer_reference)
select t.execution_id, t.opening, t.result_data::json, t.error_data::json, t.items::json, t.sanitised, t.peer_reference
from unnest($1::uuid[], $2::integer[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::text[])
    as t(execution_id, opening, result_data, error_data, items, sanitised, peer_reference)
on conflict (execution_id, opening) do update set
    result_data = excluded.result_data, error_data = excluded.error_data, items = excluded.items,
    sanitised = excluded.sanitised, peer_reference = excluded.peer_reference, recorded_at = now()
