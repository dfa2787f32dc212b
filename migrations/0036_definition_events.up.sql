-- What is defined is told as well, whoever changes it: a workflow type in its lane's stream, a provider in its own. What a
-- change leaves as it was is no change: a type of the configuration file is put anew at every start.
create function tell_definition(p_kind text, p_stream uuid, p_seq integer, p_organization_id text, p_type text, p_payload json)
returns void language sql as $$
    insert into events (kind, stream_id, seq, organization_id, type, payload)
    values (p_kind, p_stream, p_seq, p_organization_id, p_type, p_payload)
$$;

-- Sealed secrets look different each time that they are sealed; what they are is nobody's business.
create function type_definition(p_type workflow_types) returns jsonb language sql immutable as $$
    select to_jsonb(p_type) - array['lane_id', 'last_seq', 'version', 'source', 'created_at', 'updated_at', 'bearer_sealed', 'headers_sealed',
                                    'signing_sealed']
$$;

create function tell_type_changed() returns trigger language plpgsql as $$
declare
    v_changed text[];
begin
    if tg_op = 'DELETE' then
        perform tell_definition('lane', old.lane_id, old.last_seq + 1, old.organization_id, 'lane.removed',
                                json_build_object('workflow_type', old.name, 'version', old.version));
        return null;
    end if;
    if tg_op = 'INSERT' then
        update workflow_types set last_seq = last_seq + 1 where lane_id = new.lane_id returning * into new;
        perform tell_definition('lane', new.lane_id, new.last_seq, new.organization_id, 'lane.registered',
                                json_build_object('workflow_type', new.name, 'version', new.version, 'source', new.source));
        return null;
    end if;
    select array_agg(a.key order by a.key) into v_changed
    from jsonb_each(type_definition(new)) a join jsonb_each(type_definition(old)) b using (key)
    where a.value is distinct from b.value;
    if v_changed is null then return new; end if;
    new.last_seq := new.last_seq + 1;
    perform tell_definition('lane', new.lane_id, new.last_seq, new.organization_id, 'lane.changed',
                            json_build_object('workflow_type', new.name, 'version', new.version, 'source', new.source,
                                              'changed', v_changed));
    return new;
end $$;
create trigger tell_type_added after insert or delete on workflow_types for each row execute function tell_type_changed();
-- A new number in the stream alone is no change.
create trigger tell_type_changed before update on workflow_types for each row
    when (new.last_seq = old.last_seq) execute function tell_type_changed();

create function tell_provider_changed() returns trigger language plpgsql as $$
declare
    v_row    providers := case when tg_op = 'DELETE' then old else new end;
    v_stream uuid;
    v_seq    integer;
begin
    if tg_op = 'UPDATE' and new.limits = old.limits then return null; end if;
    insert into provider_weather as w (provider, last_seq) values (v_row.name, 1)
    on conflict (provider) do update set last_seq = w.last_seq + 1
    returning stream_id, last_seq into v_stream, v_seq;
    perform tell_definition('provider', v_stream, v_seq, 'default', case when tg_op = 'DELETE' then 'provider.removed' else 'provider.changed' end,
                            json_build_object('provider', v_row.name, 'version', v_row.version, 'limits', v_row.limits, 'by', v_row.updated_by,
                                              'reason', v_row.reason));
    return null;
end $$;
create trigger tell_provider_changed after insert or update or delete on providers for each row execute function tell_provider_changed();
