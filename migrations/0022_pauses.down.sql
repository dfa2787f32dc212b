drop table provider_pauses;
alter table pauses drop column until_condition;
