-- plan: for its parameters
-- What two choices have in common of the next so many events: EventChoice::matches, in SQL.
select @numbered_event_columns@
from (select * from events where event_id > $1 and event_id <= $2 order by event_id limit $3) as e
@with_workflow_types@
where ($5 = '' or e.organization_id = $5)
  and (cardinality($6::text[]) + cardinality($7::text[]) = 0 or e.kind = any($6::text[]) or e.type = any($7::text[]))
  and (cardinality($8::text[]) = 0 or e.type like any($8::text[]))
  and (cardinality($9::text[]) = 0 or coalesce(x.workflow_type, t.name, '') = any($9::text[]))
  and (cardinality($10::text[]) + cardinality($11::text[]) = 0 or e.kind = any($10::text[]) or e.type = any($11::text[]))
  and (cardinality($12::text[]) = 0 or e.type like any($12::text[]))
  and (cardinality($13::text[]) = 0 or coalesce(x.workflow_type, t.name, '') = any($13::text[]))
  and e.at >= coalesce($14::timestamptz, '-infinity') and e.at < coalesce($15::timestamptz, 'infinity')
order by e.event_id limit $4
