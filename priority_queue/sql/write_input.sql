update execution_inputs set input_data = $2::json where execution_id = $1
