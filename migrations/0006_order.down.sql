drop function ready_executions(text, text, integer, timestamptz);
drop function execution_score_cutoff(integer, bigint, timestamptz);
drop function execution_score(integer, timestamptz, timestamptz);
