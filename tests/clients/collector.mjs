// Takes spans over OTLP/HTTP in JSON and holds them against the protocol's published definition, as OpenTelemetry's own package
// carries it: nothing that it does not know, nothing of another kind. `node collector.mjs PORT`; GET / tells what came.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const root = require('@opentelemetry/otlp-transformer/build/src/generated/root.js');
const Request = root.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;

const spans = [];
const faults = [];

const ids = new Set(['traceId', 'spanId', 'parentSpanId']);

// What goes through the definition and comes out otherwise, or not at all, is not what it says.
function compare(given, known, at) {
  if (given === null || typeof given !== 'object') {
    if (!ids.has(at.split('/').pop()) && String(given) !== String(known)) faults.push(`${at} is ${given}, by the definition ${known}`);
    return;
  }
  for (const key of Object.keys(given)) {
    if (known === null || typeof known !== 'object' || !(key in known)) faults.push(`${at}/${key} is not in the definition`);
    else compare(given[key], known[key], `${at}/${key}`);
  }
}

function check(body) {
  const message = Request.fromObject(body);
  const wrong = Request.verify(message);
  if (wrong) faults.push(wrong);
  compare(body, Request.toObject(message, { longs: String, enums: Number, bytes: String, defaults: true }), '');
  for (const resource of body.resourceSpans)
    for (const scope of resource.scopeSpans)
      for (const span of scope.spans) {
        // The mapping for JSON sets these apart from protobuf's own: ids in hex, times as decimal text.
        if (!/^[0-9a-f]{32}$/.test(span.traceId)) faults.push(`traceId ${span.traceId}`);
        for (const id of [span.spanId, ...(span.parentSpanId === undefined ? [] : [span.parentSpanId])])
          if (!/^[0-9a-f]{16}$/.test(id)) faults.push(`span id ${id}`);
        for (const time of [span.startTimeUnixNano, span.endTimeUnixNano])
          if (typeof time !== 'string' || !/^[0-9]{19}$/.test(time)) faults.push(`time ${time}`);
        if (typeof span.kind !== 'number' || span.kind < 1 || span.kind > 5) faults.push(`kind ${span.kind}`);
        spans.push(span);
      }
}

createServer((request, response) => {
  let text = '';
  request.on('data', (piece) => (text += piece));
  request.on('end', () => {
    if (request.method === 'GET') return response.end(JSON.stringify({ spans, faults }));
    if (request.headers['content-type'] !== 'application/json') faults.push(`content type ${request.headers['content-type']}`);
    try {
      check(JSON.parse(text));
    } catch (error) {
      faults.push(String(error));
    }
    response.setHeader('content-type', 'application/json');
    response.end('{"partialSuccess":{}}');
  });
}).listen(Number(process.argv[2]), '127.0.0.1', () => console.log('listening'));
