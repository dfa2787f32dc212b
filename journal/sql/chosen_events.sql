-- plan: for its parameters
-- What somebody has chosen of the next so many events: EventChoice::matches, in SQL.
select @numbered_event_columns@
from (select * from events where event_id > $1 and event_id <= $2 order by event_id limit $3) as e
@with_workflow_types@
where ($5 = '' or e.organization_id = $5)
  and (cardinality($6::text[]) + cardinality($7::text[]) = 0 or e.kind = any($6::text[]) or e.type = any($7::text[]))
  and (cardinality($8::text[]) = 0 or e.type like any($8::text[]))
  and (cardinality($9::text[]) = 0 or coalesce(x.workflow_type, t.name, '') = any($9::text[]))
order by e.event_id limit $4
