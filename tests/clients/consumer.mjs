// A sub-workflow that checks our signatures with the npm package standardwebhooks, not with our own code.
//   node consumer.mjs PORT SECRET
import http from 'node:http';
import { Webhook } from 'standardwebhooks';

const [port, secret] = process.argv.slice(2);
const webhook = new Webhook(secret);
http.createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', async () => {
    const body = Buffer.concat(chunks).toString('utf8');
    let trigger;
    try {
      trigger = webhook.verify(body, request.headers);
    } catch (error) {
      response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify({ why: error.message }));
      return;
    }
    response.writeHead(202, { 'content-type': 'application/json' }).end('{"accepted":true}');
    await fetch(trigger.callback_url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${trigger.authentication.token}` },
      body: JSON.stringify({ status: 'completed', result_data: { verified: true, input: trigger.input_data } }),
    });
  });
}).listen(Number(port), '127.0.0.1');
