delete from workflow_types where source = 'seed';
