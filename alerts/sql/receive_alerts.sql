-- Of elsewhere. What fires already began when it did, and only its own organization may say more of it.
insert into alerts as a (fingerprint, organization_id, labels, phase, since, summary, description, command, link, runbook, annotations, ends_at)
select n.* from json_to_recordset($1::json) as n(fingerprint text, organization_id text, labels jsonb, phase text, since timestamptz,
                                                 summary text, description text, command text, link text, runbook text, annotations json,
                                                 ends_at timestamptz)
where n.ends_at > now()
   or exists (select from alerts o where o.fingerprint = n.fingerprint and o.phase <> 'resolved')
on conflict (fingerprint) where phase <> 'resolved' do update
    set phase = case when excluded.ends_at > now() then a.phase else 'resolved' end,
        ended_why = case when excluded.ends_at > now() then a.ended_why else 'said' end,
        since = least(a.since, excluded.since), summary = excluded.summary, description = excluded.description, command = excluded.command,
        link = excluded.link, runbook = excluded.runbook, annotations = excluded.annotations, ends_at = excluded.ends_at
    where a.rule is null and a.organization_id = excluded.organization_id
