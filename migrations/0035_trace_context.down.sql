alter table execution_inputs drop column trace_context;
