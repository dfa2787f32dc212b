-- Those that are there are as they are told to be now; who has acknowledged one stays. What changes nothing is not written.
insert into alerts as a (fingerprint, rule, organization_id, labels, phase, since, clear_since, value, summary, description, causes, command,
                         link, runbook, evidence, annotations, ends_at)
select n.* from json_to_recordset($1::json) as n(fingerprint text, rule text, organization_id text, labels jsonb, phase text, since timestamptz,
                                                 clear_since timestamptz, value double precision, summary text, description text,
                                                 causes json, command text, link text, runbook text, evidence json, annotations json,
                                                 ends_at timestamptz)
on conflict (fingerprint) where phase <> 'resolved' do update
    set rule = excluded.rule, organization_id = excluded.organization_id, phase = excluded.phase, since = excluded.since, clear_since = excluded.clear_since, value = excluded.value,
        summary = excluded.summary, description = excluded.description, causes = excluded.causes, command = excluded.command,
        link = excluded.link, runbook = excluded.runbook, evidence = excluded.evidence, annotations = excluded.annotations,
        ends_at = excluded.ends_at
    where (a.rule, a.organization_id, a.phase, a.since, a.clear_since, a.value, a.summary, a.description, a.causes::text, a.command, a.link, a.runbook,
           a.evidence::text, a.annotations::text, a.ends_at)
          is distinct from (excluded.rule, excluded.organization_id, excluded.phase, excluded.since, excluded.clear_since, excluded.value, excluded.summary,
                            excluded.description, excluded.causes::text, excluded.command, excluded.link, excluded.runbook,
                            excluded.evidence::text, excluded.annotations::text, excluded.ends_at)
