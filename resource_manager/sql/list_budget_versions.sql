-- Of one name, whatever was retired and reset; $2's before one that is for all, which is shown to those who look after all.
select v.version, v.definition, v.at, v.by, v.reason
from budget_versions v join budgets b using (budget_id)
where b.name = $1 and coalesce(b.scope_organization, '') = (
    select coalesce(scope_organization, '') from budgets
    where name = $1 and (scope_organization = $2 or (scope_organization is null and $3))
    order by retired_at is not null, scope_organization nulls last limit 1
)
order by v.at desc, v.budget_id desc, v.version desc
limit 100
