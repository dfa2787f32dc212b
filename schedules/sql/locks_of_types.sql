-- Those that a type names and that are held by somebody who is no execution: the scheduler knows those itself.
select l.organization_id, l.name, l.owner, l.held_until
from locks l
where l.execution_id is null and l.held_until > clock_timestamp()
  and exists (select from workflow_types t where t.organization_id = l.organization_id and t.lock_name = l.name)
