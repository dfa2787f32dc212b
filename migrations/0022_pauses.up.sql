-- Pauses that end by themselves when something is so (subworkflows/pause_condition.h), and pauses of a provider: of every
-- lane of the organization that calls it. An older hub keeps to a pause until its time or its end by hand, and knows none
-- of a provider.
alter table pauses add column until_condition text;

create table provider_pauses (
    organization_id text not null,
    provider        text not null,
    reason          text not null default '',
    paused_by       text not null default '',
    since           timestamptz not null default now(),
    until_at        timestamptz,
    until_condition text,
    primary key (organization_id, provider)
);
create trigger provider_pauses_changed after insert or update or delete on provider_pauses
    for each statement execute function bump_catalogue_version();
