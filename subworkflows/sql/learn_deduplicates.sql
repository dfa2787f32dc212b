update endpoints set learnt_deduplicates = true where endpoint_id = $1 and not learnt_deduplicates
