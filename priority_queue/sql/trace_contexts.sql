select execution_id, trace_context from execution_inputs where execution_id = any($1::uuid[]) and trace_context is not null
