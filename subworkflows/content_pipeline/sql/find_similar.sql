-- Drafts that share a probe with any of ours: candidates, to be compared by their whole sketches. Only what was there
-- before this execution's first run: neither its own drafts, which a second run writes over, nor later ones, for an
-- original must not become the duplicate of its own copy. Copies to the letter are left out, for the draft they copy is
-- there; so a batch that is run every day does not make this grow.
select d.id, d.key, d.shingles
from content_pipeline.drafts d
where d.organization_id = $1
  and d.probes && $3::bigint[]
  and d.similarity is distinct from 1
  and d.created_at < coalesce((select min(own.created_at) from content_pipeline.drafts own where own.execution_id = $2),
                              'infinity')
order by d.created_at, d.id
limit 5000
