drop table workflow_resource_usage, execution_results, execution_inputs, executions;
