-- Creates or replaces. The lane's stream number survives, so that its events stay without gaps.
insert into workflow_types (organization_id, name, enabled, importance, timeout_seconds, max_runtime_seconds,
    max_concurrency, concurrency_key, concurrency_key_limit, max_wait_seconds, retry_policy, max_retries, retry_rejected,
    accept_late, unknown_statuses, cost_estimate_microusd, call_estimates, bearer_sealed, headers_sealed, signing_sealed, source, cheaper_variant,
    memory_mb, queue_soft_limit, queue_hard_limit, queue_ttl_seconds,
    execution_interval_seconds, cool_down_seconds, run_windows, lock_name)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::jsonb, $12, $13, $14, $15::integer[], $16, $17::jsonb, $18, $19, $20::text[], $21, $22::json, $23,
    $24, $25, $26, $27, $28, $29::json, $30)
on conflict (organization_id, name) do update set
    enabled = excluded.enabled, importance = excluded.importance, timeout_seconds = excluded.timeout_seconds,
    max_runtime_seconds = excluded.max_runtime_seconds, max_concurrency = excluded.max_concurrency,
    concurrency_key = excluded.concurrency_key, concurrency_key_limit = excluded.concurrency_key_limit,
    max_wait_seconds = excluded.max_wait_seconds, retry_policy = excluded.retry_policy, max_retries = excluded.max_retries,
    retry_rejected = excluded.retry_rejected, accept_late = excluded.accept_late, unknown_statuses = excluded.unknown_statuses,
    cost_estimate_microusd = excluded.cost_estimate_microusd, call_estimates = excluded.call_estimates,
    bearer_sealed = excluded.bearer_sealed, headers_sealed = excluded.headers_sealed, signing_sealed = excluded.signing_sealed,
    memory_mb = excluded.memory_mb, queue_soft_limit = excluded.queue_soft_limit,
    queue_hard_limit = excluded.queue_hard_limit, queue_ttl_seconds = excluded.queue_ttl_seconds,
    execution_interval_seconds = excluded.execution_interval_seconds, cool_down_seconds = excluded.cool_down_seconds,
    run_windows = excluded.run_windows, lock_name = excluded.lock_name, source = excluded.source,
    cheaper_variant = excluded.cheaper_variant, version = workflow_types.version + 1, updated_at = now()
returning (xmax = 0) as created
