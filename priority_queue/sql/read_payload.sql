select input_data, context from execution_inputs where execution_id = $1
