delete from orchestrator_metrics where ctid = any(array(
    select ctid from orchestrator_metrics
    where timestamp < now() - interval '30 days'
      and timestamp < now() - case when metric_type like 'hour%' then interval '70 days'
                                   when metric_type in ('daily_summary', 'weekly_optimization') then interval '400 days'
                                   else interval '30 days' end
    limit 10000))
