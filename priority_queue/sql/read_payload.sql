select input_data, context, trace_context from execution_inputs where execution_id = $1
