-- plan: for its parameters
-- Rows, and their bytes as they are stored, without indexes.
select 'executions', count(*), coalesce(sum(pg_column_size(t.*)), 0) from executions t where execution_id = any($1::uuid[])
union all
select 'execution_inputs', count(*), coalesce(sum(40 + pg_column_size(input_data) + coalesce(pg_column_size(context), 0)), 0)
from execution_inputs where execution_id = any($1::uuid[])
union all
select 'execution_results', count(*),
       coalesce(sum(60 + coalesce(pg_column_size(result_data), 0) + coalesce(pg_column_size(error_data), 0) +
                    coalesce(pg_column_size(items), 0)), 0)
from execution_results where execution_id = any($1::uuid[])
union all
select 'events', count(*), coalesce(sum(120 + pg_column_size(payload)), 0) from events
where stream_id = any($1::uuid[])
  and event_id > coalesce((select min(events_after) from executions where execution_id = any($1::uuid[])), 0)
union all
select 'attempts', count(*), coalesce(sum(140 + coalesce(pg_column_size(callback_answer), 0)), 0)
from attempts where execution_id = any($1::uuid[])
union all
select 'deliveries', count(*), coalesce(sum(160 + coalesce(pg_column_size(answer), 0)), 0)
from deliveries where execution_id = any($1::uuid[])
union all
select 'refused_callbacks', count(*), coalesce(sum(100 + pg_column_size(body)), 0)
from refused_callbacks where execution_id = any($1::uuid[])
union all
select 'dead_letters', count(*), coalesce(sum(pg_column_size(t.*)), 0) from dead_letters t where execution_id = any($1::uuid[])
union all
select 'workflow_resource_usage', count(*), coalesce(sum(pg_column_size(t.*)), 0)
from workflow_resource_usage t where execution_id = any($1::uuid[])
