-- plan: for its parameters
-- What two choices have in common of a page of the journal: EventChoice::matches, in SQL.
select @numbered_event_columns@
from events e
@with_workflow_types@
where e.event_id > $1 and e.event_id <= $2 and ($4 = '' or e.organization_id = $4)
  and (cardinality($5::text[]) + cardinality($6::text[]) = 0 or e.kind = any($5::text[]) or e.type = any($6::text[]))
  and (cardinality($7::text[]) = 0 or e.type like any($7::text[]))
  and (cardinality($8::text[]) = 0 or coalesce(x.workflow_type, t.name, '') = any($8::text[]))
  and (cardinality($9::text[]) + cardinality($10::text[]) = 0 or e.kind = any($9::text[]) or e.type = any($10::text[]))
  and (cardinality($11::text[]) = 0 or e.type like any($11::text[]))
  and (cardinality($12::text[]) = 0 or coalesce(x.workflow_type, t.name, '') = any($12::text[]))
  and e.at >= coalesce($13::timestamptz, '-infinity') and e.at < coalesce($14::timestamptz, 'infinity')
order by e.event_id limit $3
