delete from orchestrator_metrics where ctid = any(array(
    select ctid from orchestrator_metrics where timestamp < now() - interval '30 days' limit 10000))
