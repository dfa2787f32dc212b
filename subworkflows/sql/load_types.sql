select organization_id, name, lane_id, enabled, importance, timeout_seconds, max_runtime_seconds, max_concurrency,
       concurrency_key, concurrency_key_limit, max_wait_seconds, retry_policy, max_retries, retry_rejected, accept_late,
       array_to_string(unknown_statuses, ','), cost_estimate_microusd, call_estimates, bearer_sealed, headers_sealed,
       array_to_string(signing_sealed, ','), source, version, updated_at, cheaper_variant, memory_mb,
       queue_soft_limit, queue_hard_limit, queue_ttl_seconds, execution_interval_seconds, cool_down_seconds, run_windows, lock_name
from workflow_types
