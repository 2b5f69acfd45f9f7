/**
 * Run as a program in a network of its own: a name server whose answers change, harmless servers at a private and at the
 * metadata address, and requests of all kinds to the names. Prints the connections that each server got.
 */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:http";
import { createSendToChannel } from "#alerts/channels/send.ts";
import { createAskWebhook } from "#alerts/channels/webhook.ts";
import { createBoundedFetch } from "#control/sign-in/provider.ts";
import { createReach, type Reach } from "#kernel/reach.ts";
import type { RunnableCheck } from "#monitor/contract.ts";
import { createProbe } from "#monitor/probe/probe.ts";
import { createRunCheck } from "#monitor/probe/run-check.ts";
import { createRegistryClient } from "#registry/client.ts";
import { createQueryPrometheus } from "#rollout/gates/query-prometheus.ts";
import { buildMessage } from "../alerts/message-builders.ts";

const good = "10.1.1.1";
const metadata = "169.254.169.254";
let queries = 0;

/** `turn.test` has another address each time, the others two at once. */
function addressesOf(name: string): string[] {
  if (name.includes("both")) return [good, metadata];
  if (name.includes("own")) return [good, "127.0.0.1"];
  queries += 1;
  return [queries % 2 === 0 ? metadata : good];
}

const names = createSocket("udp4");
names.on("message", (query, { port, address }) => {
  const end = query.indexOf(0, 12) + 5;
  const isA = query.readUInt16BE(end - 4) === 1;
  const found = isA ? addressesOf(query.toString("latin1", 12, end)) : [];
  const head = Buffer.from([
    ...query.subarray(0, 2),
    0x81,
    0x80,
    0,
    1,
    0,
    found.length,
    0,
    0,
    0,
    0,
  ]);
  const records = found.map((one) =>
    Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...one.split(".").map(Number)]),
  );
  names.send(Buffer.concat([head, query.subarray(12, end), ...records]), port, address);
});
names.bind(53, "127.0.0.1");
await once(names, "listening");

const hits: Record<string, number> = {};
for (const [name, address, port] of [
  ["good", good, 8080],
  ["metadata", metadata, 8080],
  ["good", good, 5000],
  ["own", "127.0.0.1", 5000],
] as const) {
  const server = createServer((_, response) => response.end("ok"));
  server.on("connection", () => {
    hits[name] = (hits[name] ?? 0) + 1;
  });
  await once(server.listen(port, address), "listening");
}

const request = { method: "GET", headers: {}, body: null, assertions: [] };
const limits = { frequencySeconds: 60, degradedAboveMs: 900, failedAboveMs: 1_000 };

const services = [{ name: "Restate", host: "127.0.0.1", port: 5000 }];
const isGuarded = process.argv[2] === "guarded";

async function attack(host: string, reach: Reach): Promise<void> {
  const target = { baseUrl: "http://127.0.0.1:9", readSecret: () => undefined };
  const parts = { probe: createProbe(), reach, target, location: "local", nowMs: Date.now };
  const [hostname = "", port] = host.split(":");
  const at = { host: hostname, port: Number(port) };
  const check = (fields: object) =>
    createRunCheck(parts)({ id: "a", ...limits, ...fields } as unknown as RunnableCheck, 0);
  const url = `http://${host}/`;
  const terms = {
    readSecret: (name: string) => ({ value: "x", bindings: [{ name, hosts: host }] }),
    ...{ timeoutMs: 1_000, nowMs: Date.now, reach },
  };
  const send = createSendToChannel(terms);
  const readChannels = async () => [{ id: "w", kind: "webhook" as const, url }];
  const bounds = { timeoutMs: 1_000, maxBytes: 1_000 };
  const mail = { url: `smtp://${host}`, tls: "optional" as const, from: "a@b.c", to: ["d@e.f"] };
  await check({ kind: "http", path: url, ...request });
  await check({ kind: "steps", steps: [{ name: null, path: url, ...request, extract: {} }] });
  await check({ kind: "tcp", ...at, send: null, expect: null });
  await check({
    kind: "tls",
    ...at,
    servername: hostname,
    degradedBelowDays: 1,
    failedBelowDays: 0,
  });
  await send({ id: "w", kind: "webhook", url }, buildMessage());
  await send({ id: "s", kind: "slack", url }, buildMessage());
  await send({ id: "p", kind: "pagerduty", url, secret: "{{K}}" }, buildMessage());
  await send({ id: "m", kind: "email", ...mail }, buildMessage());
  await send({ id: "l", kind: "syslog", url: `tcp://${host}` }, buildMessage());
  await createAskWebhook({ ...terms, readChannels })("w", { id: "q", body: "{}" });
  const discover = createBoundedFetch(false, bounds, reach);
  await discover(`https://${host}/`, { method: "GET", headers: {} }).catch(() => {});
  if (!isGuarded) return;
  const open = { allowed: [], insecure: [], token_hosts: [] };
  const registry = createRegistryClient(open, () => undefined, services);
  const image = { host, repository: "a/b" } as Parameters<typeof registry>[0];
  const pull = registry(image, AbortSignal.timeout(1_000));
  await pull({ method: "GET", path: "manifests/v1" }).catch(() => {});
  // The settings name it, so that its name may be one of ours.
  if (!host.startsWith("own")) await createQueryPrometheus({ url, token: "t" })("up");
}

for (const host of ["turn.test:8080", "turn.test:8080", "both.test:8080", "own.test:5000"]) {
  // Each with connections of its own.
  await attack(
    host,
    isGuarded ? createReach({ services }) : createReach({ closed: [], closedIfNamed: [] }),
  );
}
process.stdout.write(JSON.stringify(hits));
process.exit();
