// npm's smtp-server on 127.0.0.1, with one account: `node mailbox.mjs '{"port": …, "control": …, "user": …, "password": …}'`, and
// "tls": "starttls", "implicit" or "none", "key", "cert": files, "methods" to log in by, "greeting": a code. GET / on the control
// port tells what came. It behaves as the envelope's addresses ask:
//   from busy@     421 to MAIL
//   to   unknown@  550 to RCPT          later@   450 to RCPT
//        spam@     554 to the message   full@    452 to the message
//        silent@   never answers the message       gone@       breaks the connection instead
//        slow@     does not read the message       lingering@  never answers QUIT
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { SMTPServer } from 'smtp-server';

const options = JSON.parse(process.argv[2]);
const came = { connections: 0, messages: [], logins: [] };
const clear = [];

const says = (code, text) => Object.assign(new Error(text), { responseCode: code });
const asks = (session, name) => session.envelope.rcptTo.some((to) => to.address.startsWith(`${name}@`));
const connection_of = (session) => [...server.connections].find((each) => each.id === session.id);

const server = new SMTPServer({
  secure: options.tls === 'implicit',
  hideSTARTTLS: options.tls === 'none',
  allowInsecureAuth: true,
  ...(options.key ? { key: readFileSync(options.key), cert: readFileSync(options.cert) } : {}),
  ...(options.methods ? { authMethods: options.methods } : {}),
  disableReverseLookup: true,
  authOptional: options.tls === 'none',
  closeTimeout: 100,
  onConnect(session, callback) {
    came.connections++;
    callback(options.greeting ? says(options.greeting, 'come back later') : undefined);
  },
  onAuth(login, session, callback) {
    came.logins.push({ method: login.method, username: login.username, password: login.password, tls: session.secure });
    if (login.username === options.user && login.password === options.password) return callback(null, { user: login.username });
    // As careless as servers are.
    const plain = Buffer.from(`\0${login.username}\0${login.password}`).toString('base64');
    callback(says(535, `5.7.8 ${login.password} is not the password of ${login.username}: ${plain}`));
  },
  onMailFrom(address, session, callback) {
    callback(address.address.startsWith('busy@') ? says(421, 'too busy') : undefined);
  },
  onRcptTo(address, session, callback) {
    if (address.address.startsWith('unknown@')) return callback(says(550, '5.1.1 nobody of that name'));
    callback(address.address.startsWith('later@') ? says(450, '4.2.1 greylisted') : undefined);
  },
  onData(stream, session, callback) {
    if (asks(session, 'slow')) return;
    const pieces = [];
    stream.on('data', (piece) => pieces.push(piece));
    stream.on('end', () => {
      came.messages.push({
        from: session.envelope.mailFrom.address,
        to: session.envelope.rcptTo.map((to) => to.address),
        tls: session.secure,
        base64: Buffer.concat(pieces).toString('base64'),
      });
      if (asks(session, 'silent')) return;
      const connection = connection_of(session);
      if (asks(session, 'gone')) return connection._socket.destroy();
      if (asks(session, 'lingering')) connection.handler_QUIT = () => {};
      if (asks(session, 'spam')) return callback(says(554, '5.7.1 looks like spam'));
      callback(asks(session, 'full') ? says(452, '4.2.2 mailbox full') : null, 'kept as number 4711');
    });
  },
});
server.on('error', (error) => console.log(String(error)));
// What goes over the wire before TLS, if any.
server.server.on('connection', (socket) => socket.on('data', (piece) => clear.push(piece)));

server.listen(options.port, '127.0.0.1', () =>
  createServer((request, response) =>
    response.end(JSON.stringify({ ...came, clear: Buffer.concat(clear).toString('latin1') })),
  ).listen(options.control, '127.0.0.1', () => console.log('listening')),
);
