-- Twice the same is made once.
insert into reports (kind, period_start, period_end, time_zone, content, document)
values ($1, $2, $3, $4, $5::json, $6::json)
on conflict (kind, period_start, period_end) do nothing
returning report_id
