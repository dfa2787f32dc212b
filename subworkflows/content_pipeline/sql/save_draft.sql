-- Runs of the same execution write over each other; created_at stays that of the first.
insert into content_pipeline.drafts (
    id, execution_id, organization_id, key, title, slug, summary, keywords, body, language, words, reading_minutes,
    duplicate_of, similarity, source_url, shingles, probes)
values ($1, $2, $3, $4, $5, $6, $7::text[], $8::text[], $9, $10, $11, $12, $13, $14, $15, $16::bigint[], $17::bigint[])
on conflict (execution_id, key) do update
set title = excluded.title,
    slug = excluded.slug,
    summary = excluded.summary,
    keywords = excluded.keywords,
    body = excluded.body,
    language = excluded.language,
    words = excluded.words,
    reading_minutes = excluded.reading_minutes,
    duplicate_of = excluded.duplicate_of,
    similarity = excluded.similarity,
    source_url = excluded.source_url,
    shingles = excluded.shingles,
    probes = excluded.probes,
    updated_at = now()
