// The smallest sub-workflow: node receiver.mjs, then register http://127.0.0.1:9000/ as a workflow type's endpoint.
import http from 'node:http';
http.createServer(async (request, response) => {
  let body = ''; for await (const chunk of request) body += chunk;
  response.writeHead(202).end();
  if (request.method !== 'POST') return;
  const { input_data, callback_url, authentication } = JSON.parse(body);
  await fetch(callback_url, { method: 'POST', headers: { authorization: `Bearer ${authentication.token}` },
    body: JSON.stringify({ status: 'completed', result_data: { echo: input_data }, metrics: { items_processed: 1 } }) });
}).listen(process.argv[2] ?? 9000, '127.0.0.1');
