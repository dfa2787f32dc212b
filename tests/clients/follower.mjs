// Follows a stream of events with the npm package eventsource, not with our own code; prints a line for each.
//   node follower.mjs URL KEY TYPE…
import { EventSource } from 'eventsource';

const [url, key, ...types] = process.argv.slice(2);
const source = new EventSource(url, {
  fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, authorization: `Bearer ${key}` } }),
});
source.addEventListener('open', () => console.log(JSON.stringify({ open: true })));
for (const type of types)
  source.addEventListener(type, (event) =>
    console.log(JSON.stringify({ id: event.lastEventId, type: event.type, data: JSON.parse(event.data) })),
  );
