-- Asked first: CREATE … IF NOT EXISTS wants the right to create even where there is nothing to create.
select to_regclass('content_pipeline.drafts') is not null
