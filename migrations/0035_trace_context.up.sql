-- Which trace an execution came with (W3C Trace Context): `traceparent`, and on a second line `tracestate` where there is one.
-- null: none, then its own id is the trace.
alter table execution_inputs add column trace_context text;
