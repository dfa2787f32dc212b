-- Those that were told no more because they took nothing for too long.
select json_build_object('organization', organization_id, 'subscriber', name), extract(epoch from now() - disabled_at), '[]'
from subscribers where deleted_at is null and disabled_by = 'hub'
