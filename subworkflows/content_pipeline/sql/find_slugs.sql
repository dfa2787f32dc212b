-- Slugs of other executions that begin like one of ours. A slug holds no character that LIKE reads as a pattern.
select distinct d.slug
from content_pipeline.drafts d
join unnest($3::text[]) as wanted(slug) on d.slug like wanted.slug || '%'
where d.organization_id = $1 and d.execution_id <> $2
