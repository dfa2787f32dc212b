update alerts set acknowledged_at = case when $3 then now() end, acknowledged_by = case when $3 then $4 end,
                  acknowledgement = case when $3 then $5 end
where alert_id = $2 and ($1 = '' or organization_id = $1) and phase in ('firing', 'clearing') and (acknowledged_at is null) = $3
returning alert_id
