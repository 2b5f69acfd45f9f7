#!/usr/bin/env bash
# restate-server 1.7.12 gives a call at its ingress that has no idempotency key one of its own, and so keeps its
# completed invocation with the answer for a day (the default of idempotency retention), also of a handler whose journal
# retention is 0: each read that a page makes every second stays on the disk until tomorrow. A caller cannot ask for less:
# the handler has to, by an idempotency retention of 0. Its callers get their answers all the same.
# Seen (SDK 1.17.2), after ten calls of each, without a key: kept 10 of `plain`, 0 of `unkept`.
set -euo pipefail
folder=$(mktemp -d)
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$folder"
}
trap finish EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund @restatedev/restate-server@1.7.12 @restatedev/restate-sdk@1.17.2

cat >service.mjs <<'JS'
import { createServer } from "node:http2";
import { writeFileSync } from "node:fs";
import { createEndpointHandler, handlers, service } from "@restatedev/restate-sdk";
const reads = service({
  name: "Reads",
  handlers: {
    plain: async () => "x",
    unkept: handlers.handler({ idempotencyRetention: 0 }, async () => "x"),
  },
  options: { journalRetention: 0 },
});
const server = createServer(createEndpointHandler({ services: [reads] }));
server.listen(0, "127.0.0.1", () => writeFileSync("port", String(server.address().port)));
JS
node service.mjs >service.log 2>&1 &
pids+=($!)
cat >restate.toml <<'TOML'
bind-ip = "127.0.0.1"
listen-mode = "unix"
disable-telemetry = true
TOML
./node_modules/.bin/restate-server --config-file restate.toml --base-dir data >restate.log 2>&1 &
pids+=($!)
at() { curl -s --max-time 5 --unix-socket "$(find data -name "$1.sock")" -H 'content-type: application/json' "${@:2}"; }
for _ in $(seq 200); do
  [ -s port ] && at admin http://localhost/health >/dev/null 2>&1 && at ingress http://localhost/restate/health >/dev/null 2>&1 && break
  sleep 0.2
done
at admin http://localhost/deployments -d "{\"uri\":\"http://127.0.0.1:$(cat port)\"}" >/dev/null
for _ in $(seq 10); do
  for handler in plain unkept; do [ "$(at ingress -X POST "http://localhost/Reads/$handler")" = '"x"' ]; done
done
sleep 1
count() {
  at admin http://localhost/query -H 'accept: application/json' \
    -d "{\"query\":\"SELECT count(*) AS n FROM sys_invocation WHERE target_handler_name = '$1' AND idempotency_key IS NOT NULL\"}"
}
printf 'plain: %s\nunkept: %s\n' "$(count plain)" "$(count unkept)"
[ "$(count plain | tr -dc 0-9)" = 10 ] && [ "$(count unkept | tr -dc 0-9)" = 0 ]
