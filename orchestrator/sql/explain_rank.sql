-- How many go before it: in its lane, and in its organization's other lanes that are not stopped; each at most so many.
select executions_before($1, $2, $3, $4, $5, $6, $7, $8, $9),
       (select coalesce(sum(executions_before($1, t.name, $3, $4, $5, $6, $7, $8, $10)), 0)::bigint
        from workflow_types t where t.organization_id = $1 and t.name <> $2 and lane_gate($1, t.name) is null)
