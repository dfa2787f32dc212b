select execution_id, opening, result_data, error_data, items, sanitised, peer_reference from execution_results
where (execution_id, opening) in (select * from unnest($1::uuid[], $2::integer[]))
