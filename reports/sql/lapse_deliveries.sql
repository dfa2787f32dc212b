-- Nobody wants to be told for days what was the day before yesterday; or the receiver is gone.
update report_deliveries d set state = 'lapsed', settled_at = now(),
       error = case when d.receiver <> all($1::text[]) then 'it is no receiver of reports any more'
                    else coalesce(nullif(d.error, ''), 'it was not taken for so long that there is a newer one') end
from reports r
where r.report_id = d.report_id and d.state = 'pending'
  and (r.created_at < now() - interval '1 day' or d.receiver <> all($1::text[]))
