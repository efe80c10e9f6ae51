// Node's http server as a reader: answers each request with what it took it for, in X-Seen.
'use strict';
const http = require('http');

const server = http.createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    const seen = {
      method: request.method,
      target: request.url,
      host: request.headers.host || '',
      body: Buffer.concat(parts).toString('latin1'),
    };
    response.writeHead(200, {
      'X-Seen': Buffer.from(JSON.stringify(seen)).toString('base64'),
      'Content-Length': 0,
    });
    response.end();
  });
});
// A client that has said its last still wants its answers.
server.httpAllowHalfOpen = true;
server.on('connect', (request, socket) => {
  socket.on('error', () => {});
  socket.end('HTTP/1.1 501 Not Implemented\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
});
server.listen(Number(process.argv[2]), '127.0.0.1');
