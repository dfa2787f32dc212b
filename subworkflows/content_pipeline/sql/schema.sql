-- The service makes its own schema: it owes the hub's database nothing, and may live in another one. Two that start at
-- once wait for each other, for IF NOT EXISTS alone does not keep them from colliding.
select pg_advisory_xact_lock(hashtext('content_pipeline.drafts'));

create schema if not exists content_pipeline;

create table if not exists content_pipeline.drafts (
    -- made of execution_id and key
    id uuid primary key,
    execution_id uuid not null,
    organization_id text not null,
    key text not null,
    title text not null,
    slug text not null,
    summary text[] not null,
    keywords text[] not null,
    body text not null,
    language text not null,
    words bigint not null check (words >= 30),
    reading_minutes bigint not null check (reading_minutes >= 1),
    -- no foreign key: the other one may be deleted, and this was like it all the same
    duplicate_of uuid,
    similarity double precision check (similarity between 0.8 and 1),
    source_url text,
    -- the smallest hashes of the text's shingles, and of those the very smallest, by which like texts are found
    shingles bigint[] not null,
    probes bigint[] not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    unique (execution_id, key),
    check ((duplicate_of is null) = (similarity is null))
);

create index if not exists drafts_probes on content_pipeline.drafts using gin (probes);
create index if not exists drafts_slug on content_pipeline.drafts (organization_id, slug text_pattern_ops);
