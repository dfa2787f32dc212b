drop trigger tell_provider_changed on providers;
drop function tell_provider_changed();
drop trigger tell_type_changed on workflow_types;
drop trigger tell_type_added on workflow_types;
drop function tell_type_changed();
drop function type_definition(workflow_types);
drop function tell_definition(text, uuid, integer, text, text, json);
