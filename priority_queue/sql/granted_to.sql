-- What the scheduler has given to this node to deliver.
select @execution_columns@, i.input_data, i.context, now(), i.trace_context
from executions e left join execution_inputs i using (execution_id)
where e.granted_to = $1 order by e.granted_at limit 500
