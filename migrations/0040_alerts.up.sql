-- Who must be told of what (003): what is raised and what has resolved (alerts), what nobody is to be told of for a while
-- (silences), and what was sent to whom (notifications). How far everybody has been told (alert_groups, alert_receivers) is the
-- scheduler's alone; people move silences and acknowledgements.
create table alerts (
    -- Its stream of events: one row for each time that it was raised.
    alert_id        uuid primary key default gen_random_uuid(),
    -- Of its labels: 32 hex digits.
    fingerprint     text not null,
    -- Null: it came from elsewhere.
    rule            text,
    organization_id text not null default 'default' references organizations,
    labels          jsonb not null,
    -- pending: it holds, but not for long enough yet, and nobody is told.
    phase           text not null check (phase in ('pending', 'firing', 'clearing', 'resolved')),
    since           timestamptz not null,
    clear_since     timestamptz,
    value           double precision,
    summary         text not null default '',
    description     text not null default '',
    causes          json not null default '[]',
    command         text not null default '',
    link            text not null default '',
    runbook         text not null default '',
    evidence        json not null default '[]',
    annotations     json not null default '{}',
    -- When it resolved; of what came from elsewhere, when it does unless it is said again.
    ends_at         timestamptz,
    -- cleared, vanished, rule_gone; expired, said: what came from elsewhere.
    ended_why       text,
    acknowledged_at timestamptz,
    acknowledged_by text,
    acknowledgement text,
    last_seq        integer not null default 0,
    check (phase <> 'resolved' or ends_at is not null)
);
create unique index alerts_open on alerts (fingerprint) where phase <> 'resolved';
create index alerts_resolved on alerts (ends_at) where phase = 'resolved';
create index alerts_by_fingerprint on alerts (fingerprint text_pattern_ops, ends_at desc);
create index alerts_received on alerts (organization_id) where rule is null and phase <> 'resolved';

create table silences (
    silence_id uuid primary key default gen_random_uuid(),
    -- As in Alertmanager: severity="warning", queue=~"a|b".
    matchers   text[] not null check (cardinality(matchers) between 1 and 32),
    starts_at  timestamptz not null,
    -- Brought forward where it is ended early; a silence is never deleted before its time.
    ends_at    timestamptz not null,
    created_by text not null,
    comment    text not null check (comment <> ''),
    created_at timestamptz not null default now(),
    check (starts_at <= ends_at)
);
create index silences_ends on silences (ends_at);

create table alert_groups (
    group_key text primary key,
    state     json not null
);
create table alert_receivers (
    receiver text primary key,
    state    json not null
);

-- One message to one receiver, and what became of it.
create table notifications (
    notification_id text primary key,
    kind            text not null check (kind in ('first', 'update', 'repeat', 'resolved', 'escalation')),
    receiver        text not null,
    group_key       text not null,
    incident        text not null,
    firing          text[] not null,
    resolved        text[] not null,
    title           text not null default '',
    -- lapsed: it was not taken, and there was nothing to say any more.
    state           text not null check (state in ('in_flight', 'delivered', 'failed', 'unknown', 'refused', 'lapsed')),
    tries           integer not null default 1,
    error           text not null default '',
    created_at      timestamptz not null default now(),
    settled_at      timestamptz
);
create index notifications_time on notifications (created_at desc, notification_id);
create index notifications_incident on notifications (incident text_pattern_ops);

-- Told by the table itself, whoever writes.
create function tell_alert(p_alert alerts, p_type text) returns void language sql as $$
    insert into events (kind, stream_id, seq, organization_id, type, writer, payload)
    values ('alert', p_alert.alert_id, p_alert.last_seq, p_alert.organization_id, p_type, hub_writer(),
            json_build_object('fingerprint', p_alert.fingerprint, 'labels', p_alert.labels, 'summary', p_alert.summary, 'since', p_alert.since,
                              'ends_at', p_alert.ends_at, 'ended_why', p_alert.ended_why, 'acknowledged_by', p_alert.acknowledged_by))
$$;

create function alert_begins() returns trigger language plpgsql as $$
begin
    new.last_seq := case when new.phase in ('firing', 'clearing') then 1 else 0 end;
    return new;
end $$;
create trigger alert_begins before insert on alerts for each row execute function alert_begins();

create function alert_raised() returns trigger language plpgsql as $$
begin
    perform tell_alert(new, 'alert.raised');
    return null;
end $$;
create trigger alert_raised after insert on alerts for each row when (new.last_seq = 1) execute function alert_raised();

create function alert_moves() returns trigger language plpgsql as $$
declare
    v_type text := case
        when old.phase = 'pending' and new.phase in ('firing', 'clearing') then 'alert.raised'
        when old.phase in ('firing', 'clearing') and new.phase = 'resolved' then 'alert.resolved'
        when old.acknowledged_at is distinct from new.acknowledged_at then
            case when new.acknowledged_at is null then 'alert.unacknowledged' else 'alert.acknowledged' end
    end;
begin
    if v_type is null then return new; end if;
    new.last_seq := old.last_seq + 1;
    perform tell_alert(new, v_type);
    return new;
end $$;
create trigger alert_moves before update on alerts for each row execute function alert_moves();
