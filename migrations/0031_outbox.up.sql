-- Who is told of events at an address of its own (subscribers), how far each has come (subscriber_states, which only the
-- scheduler moves), what is on its way (outbox_messages), each request (outbox_deliveries), and what is told once more
-- (outbox_replays). What a subscriber has not come to yet waits in events alone: one that is down for days costs no rows.
create table subscribers (
    subscriber_id   uuid primary key default gen_random_uuid(),
    organization_id text not null references organizations,
    name            text not null check (length(name) between 1 and 63),
    -- As journal/subscriber_json.h reads it; secrets are beside it, sealed under the hub's key.
    definition      json not null,
    secrets_sealed  text not null,
    version         integer not null default 1,
    -- Grows when there is something else to do for it: to tell it once more, to try it at once.
    orders          integer not null default 0,
    updated_at      timestamptz not null default now(),
    updated_by      text not null,
    disabled_at     timestamptz,
    disabled_by     text,
    disabled_reason text,
    -- It is gone for everybody; its rows go a little at a time.
    deleted_at      timestamptz
);
create unique index subscribers_named on subscribers (organization_id, name) where deleted_at is null;
create trigger catalogue_changed after insert or update or delete on subscribers
    for each statement execute function bump_catalogue_version();

create table subscriber_states (
    subscriber_id     uuid primary key references subscribers on delete cascade,
    -- The number of the last event that it has a message of, or that is none of its.
    position          bigint not null,
    -- Requests that failed since the last one that did not.
    failures          integer not null default 0,
    failing_since     timestamptz,
    not_before        timestamptz,
    published         bigint not null default 0,
    failed            bigint not null default 0,
    last_published_at timestamptz,
    last_error        text not null default '',
    -- Of its own stream of events.
    last_seq          integer not null default 0
);

create table outbox_messages (
    subscriber_id uuid not null references subscribers on delete cascade,
    event_id      bigint not null,
    state         text not null check (state in ('pending', 'in_flight', 'published', 'failed')),
    -- Requests so far, and those of them that count against it.
    deliveries    integer not null default 0,
    failures      integer not null default 0,
    failing_since timestamptz,
    -- Pending: not before that.
    due_at        timestamptz,
    error         text not null default '',
    created_at    timestamptz not null default now(),
    ended_at      timestamptz,
    primary key (subscriber_id, event_id)
);
create index outbox_messages_open on outbox_messages (subscriber_id, event_id) where state in ('pending', 'in_flight');
create index outbox_messages_failed on outbox_messages (subscriber_id, event_id) where state = 'failed';
create index outbox_messages_ended on outbox_messages (ended_at) where ended_at is not null;

create table outbox_deliveries (
    delivery_id   bigint generated always as identity primary key,
    subscriber_id uuid not null references subscribers on delete cascade,
    event_id      bigint not null,
    number        integer not null,
    at            timestamptz not null,
    duration_us   bigint not null,
    url           text not null,
    address       text not null,
    status        integer,
    outcome       text not null,
    error         text not null,
    answer        text not null
);
create index outbox_deliveries_of on outbox_deliveries (subscriber_id, delivery_id);

create table outbox_replays (
    replay_id     bigint generated always as identity primary key,
    subscriber_id uuid not null references subscribers on delete cascade,
    -- Events after the first number and up to the last.
    position      bigint not null,
    last          bigint not null,
    -- Those of them that were given up; else which of what the subscriber hears anyway, and of what time.
    failed        boolean not null default false,
    choice        json not null,
    since         timestamptz,
    until         timestamptz,
    requested_by  text not null,
    requested_at  timestamptz not null default now(),
    messages      bigint not null default 0
);
create index outbox_replays_of on outbox_replays (subscriber_id, replay_id);
