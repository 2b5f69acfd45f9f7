#!/usr/bin/env bash
# pg 8.23.1 with pg-pool 3.14.0: `max` bounds the clients that the pool counts, not the connections that are open.
# A query that ends by `query_timeout` frees its place at once, while its connection waits for the server's end of
# the farewell that it was sent. A server that hangs never sends that, so that each timeout adds a connection: a pool of
# two had twelve open after twelve queries, all of which the server finds when it continues. With twelve such processes
# a Postgres of 100 connections is full as soon as it is well again. Closing the client's socket avoids it.
#
# Output seen:
#   pool counts 0 of max 2, open at the server: 12
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --save-exact pg@8.23.1 pg-pool@3.14.0 >/dev/null

cat > try.cjs <<'JS'
const net = require("node:net");
const pg = require("pg");

const message = (type, body) => {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
const open = new Set();
// Lets clients in (AuthenticationOk, ReadyForQuery), and then hangs.
const server = net.createServer({ allowHalfOpen: true }, (socket) => {
  open.add(socket.on("error", () => {}));
  socket.on("close", () => open.delete(socket));
  socket.once("data", () =>
    socket.write(Buffer.concat([message("R", Buffer.alloc(4)), message("Z", Buffer.from("I"))])),
  );
});
server.listen(0, "127.0.0.1", async () => {
  const pool = new pg.Pool({
    ...{ host: "127.0.0.1", port: server.address().port, user: "u", database: "d" },
    ...{ max: 2, query_timeout: 300, ssl: false },
  });
  pool.on("error", () => {});
  const queries = Array.from({ length: 12 }, () => pool.query("SELECT 1").catch(() => {}));
  await Promise.all(queries);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  console.log(`pool counts ${pool.totalCount} of max 2, open at the server: ${open.size}`);
  process.exit(pool.totalCount <= 2 && open.size === 12 ? 0 : 1);
});
JS
node try.cjs
