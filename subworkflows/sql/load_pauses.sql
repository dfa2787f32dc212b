select organization_id, workflow_type, '', reason, paused_by, since, until_at, until_condition from pauses
union all
select organization_id, '', provider, reason, paused_by, since, until_at, until_condition from provider_pauses
order by 1, 2, 3
