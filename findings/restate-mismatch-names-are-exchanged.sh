#!/usr/bin/env bash
# SDK 1.17.2: error 570 of code that does another kind of thing than its journal has exchanges both in its message. The
# journal below has a `run`, and the code sleeps; it says "The previous execution ran and recorded the following: 'sleep'" and
# "The current execution attempts to perform the following: 'run'". A step of the right kind with another name is told the
# right way round (name: journal != code). The fields of the error have the index of the entry, which is right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund @restatedev/restate-sdk@1.17.2

cat >replay.mjs <<'JS'
import { service } from "@restatedev/restate-sdk";
import { createEndpointHandler } from "@restatedev/restate-sdk/fetch";

/** A message of the service protocol: type, flags, length, protobuf. */
const message = (type, ...payload) => {
  const head = Buffer.alloc(8);
  head.writeUInt16BE(type);
  head.writeUInt32BE(payload.length, 4);
  return Buffer.concat([head, Buffer.from(payload)]);
};
const text = (field, of) => [(field << 3) | 2, of.length, ...Buffer.from(of)];
const journal = Buffer.concat([
  message(0x0000, ...text(1, "id"), ...text(2, "inv_1"), 3 << 3, 3),
  message(0x0400, ...text(14, "")),
  message(0x0411, 11 << 3, 1, ...text(12, "charge")), // run "charge"
  message(0x8011, 1 << 3, 1, ...text(5, "\n\x011")), // its result: 1
]);
const ask = async (handler) => {
  const services = [service({ name: "Orders", handlers: { order: handler } })];
  const endpoint = createEndpointHandler({ services, logger: () => {} });
  const headers = { "content-type": "application/vnd.restate.invocation.v6" };
  const url = "http://localhost/invoke/Orders/order";
  const answer = await endpoint(new Request(url, { method: "POST", headers, body: journal }));
  return answer.text();
};
const slept = await ask((ctx) => ctx.sleep(1));
const renamed = await ask((ctx) => ctx.run("bill", () => 1));
console.log(slept, renamed);
const isExchanged = /recorded the following: 'sleep'.*\n.*attempts to perform the following: 'run'/.test(slept);
process.exit(isExchanged && renamed.includes("name: charge != bill") ? 0 : 1);
JS
node replay.mjs
