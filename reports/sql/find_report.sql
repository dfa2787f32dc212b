select report_id, content, document from reports where kind = $1 and period_start = $2 and period_end = $3
