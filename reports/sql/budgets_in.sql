-- What counted against budgets in the windows that have to do with [$1, $2). $3: of one organization; null: of all.
select coalesce(b.scope_organization, ''), b.name, b.window_unit, b.limit_microusd, least(coalesce(sum(a.settled), 0), 9223372036854775807)::bigint,
       least(coalesce(max(a.settled + a.reserved + a.suspense), 0), 9223372036854775807)::bigint, count(a.*)
from budgets b
left join budget_balances a on a.budget_id = b.budget_id and a.window_start < $2 and a.window_end > $1
where b.retired_at is null and ($3::text is null or b.scope_organization = $3)
group by b.budget_id, b.name, b.scope_organization, b.window_unit, b.limit_microusd
order by 1, 2
