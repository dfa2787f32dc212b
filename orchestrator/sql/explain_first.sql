select execution_id, priority, created_at, score, starving from ready_executions($1, $2, $3, $4)
