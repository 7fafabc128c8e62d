// A web server without dependencies: /health for probes, everything else is echoed as JSON.
//   abx upload ID examples/server.js /app/server.js && abx exec ID -- sh -c 'node server.js > server.log 2>&1 &'
"use strict";

const http = require("node:http");

const port = Number(process.env.PORT ?? 3000);

const server = http.createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, "http://localhost");
  const body =
    pathname === "/health"
      ? { ok: true }
      : { method: request.method, path: pathname, query: Object.fromEntries(searchParams) };
  response.writeHead(200, { "Content-Type": "application/json" });
  response.end(`${JSON.stringify(body)}\n`);
});

server.listen(port, "0.0.0.0", () => console.log(`listening on ${port}`));
