-- What fired in [$1, $2), anomalies first. $3: of one organization; null: of all.
select labels ->> 'alertname', coalesce(labels ->> 'severity', ''), summary, since,
       case when phase = 'resolved' then ends_at end, evidence
from alerts
where since < $2 and (phase <> 'resolved' or ends_at >= $1) and phase <> 'pending' and ($3::text is null or organization_id = $3)
order by labels ->> 'alertname' <> 'anomaly', since limit 200
