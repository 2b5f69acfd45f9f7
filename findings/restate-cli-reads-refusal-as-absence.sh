#!/usr/bin/env bash
# Restate's own command line, @restatedev/restate 1.7.12, says of every server that refuses it that the server cannot be
# reached: of an admin address that answers 401 and names the schemes it takes, and of one that answers 403, "Unable to
# connect to the Restate server ... Please make sure that it is running and reachable". Neither the status nor the body is
# shown, and not that RESTATE_AUTH_TOKEN is missing or wrong. Behind an address that asks for a token a forgotten variable
# looks like a server that is down; what tells them apart is a request by curl. With the variable it sends the token as
# "Authorization: Bearer", to an http address too.
# Seen: 401 and 403 both: exit code 1, "Unable to connect to the Restate server 'http://127.0.0.1:<port>/'".
#       token sent as "Bearer of-somebody".
set -euo pipefail

folder=$(mktemp -d)
server=""
finish() {
  if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
  rm -rf "$folder"
}
trap finish EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund @restatedev/restate@1.7.12

cat >server.mjs <<'JS'
import { appendFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
const server = createServer((request, response) => {
  appendFileSync("seen", `${request.headers.authorization ?? "nothing"}\n`);
  const status = request.headers.authorization === "Bearer of-somebody" ? 403 : 401;
  response.writeHead(status, { "www-authenticate": "Bearer", "content-type": "application/json" });
  response.end(JSON.stringify({ message: "send a token that may do this" }));
});
server.listen(0, "127.0.0.1", () => writeFileSync("port", String(server.address().port)));
JS
node server.mjs &
server=$!
for _ in $(seq 100); do [ -s port ] && break; sleep 0.1; done
url="http://127.0.0.1:$(cat port)"

ask() {
  HOME=$folder RESTATE_ADMIN_URL=$url "$@" ./node_modules/.bin/restate services list 2>&1 || echo "exit code $?"
}
without=$(ask env)
with=$(ask env RESTATE_AUTH_TOKEN=of-somebody)
printf 'without a token: %s\nwith one: %s\nsent: %s\n' "$without" "$with" "$(sort -u seen | tr '\n' ',')"
for said in "$without" "$with"; do
  grep -q "Unable to connect to the Restate server" <<<"$said"
  grep -q "exit code 1" <<<"$said"
  if grep -qE "40[13]|send a token" <<<"$said"; then exit 1; fi
done
grep -qx "Bearer of-somebody" seen
