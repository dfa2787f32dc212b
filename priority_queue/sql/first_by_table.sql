select execution_id from ready_executions($1, $2, $3, $4)
