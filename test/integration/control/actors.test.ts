/** Whose call it is: in what reaches Restate, and in the log. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createControl } from "#control/control.ts";
import { isSigned } from "#kernel/actor.ts";
import { createLog } from "#kernel/log.ts";
import { type Role, roles } from "#kernel/roles.ts";

const rollout = "/vedette.v1.SentinelRolloutService/singleton";
const hashOf = (token: string) => createHash("sha256").update(token).digest("hex");
const actorKey = Buffer.alloc(32, 7);

const operators: Record<string, readonly Role[]> = {
  alice: roles,
  bob: roles,
  reader: ["read"],
  driver: ["operate"],
  approver: ["approve"],
  platform: ["notify"],
  author: ["configure"],
};

type Reached = { path: string; headers: IncomingHttpHeaders; body: string };

async function startBench() {
  const reached: Reached[] = [];
  const lines: Record<string, unknown>[] = [];
  const ingress = createServer(async (incoming, outgoing) => {
    let body = "";
    for await (const chunk of incoming) body += chunk;
    reached.push({ path: incoming.url ?? "", headers: incoming.headers, body });
    outgoing.end("{}");
  });
  ingress.listen(0, "127.0.0.1");
  await once(ingress, "listening");
  const log = createLog({ level: "silent", format: "json" });
  const info = (fields: object, message: string) => lines.push({ ...fields, message });
  const control = createControl({
    ingressUrl: `http://127.0.0.1:${(ingress.address() as AddressInfo).port}`,
    ingressToken: "shared",
    operators: Object.fromEntries(
      Object.entries(operators).map(([name, held]) => [
        name,
        { token: hashOf(`of-${name}`), roles: held },
      ]),
    ),
    actorKey,
    log: Object.assign(Object.create(log) as typeof log, { info }),
  });
  const url = await control.listen({ host: "127.0.0.1", port: 0 });
  const call = async (path: string, token: string, init: { body?: object; key?: string } = {}) => {
    const { body = {}, key } = init;
    const answer = await fetch(`${url}${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        ...(key !== undefined && { "idempotency-key": key }),
      },
      body: JSON.stringify(body),
    });
    await answer.arrayBuffer();
    return answer.status;
  };
  const stop = async () => {
    await control.close();
    ingress.close();
    ingress.closeAllConnections();
  };
  return { reached, lines, call, stop };
}

let bench: Awaited<ReturnType<typeof startBench>>;

beforeEach(async () => {
  bench = await startBench();
});

afterEach(() => bench.stop());

const keys = () => bench.reached.map(({ headers }) => headers["idempotency-key"]);

it("gives two operators with one idempotency key each a call of their own", async () => {
  await bench.call(`${rollout}/Cancel`, "of-alice", { key: "deploy-1" });
  await bench.call(`${rollout}/Cancel`, "of-bob", { key: "deploy-1" });
  await bench.call(`${rollout}/Cancel`, "of-alice", { key: "deploy-1" });

  const [alice, bob, again] = keys();
  expect(bob).not.toBe(alice);
  expect(again).toBe(alice);
});

it("signs the caller's name for this very call", async () => {
  await bench.call(`${rollout}/Cancel/send`, "of-alice");

  const [{ headers, body } = { headers: {}, body: "" }] = bench.reached;
  const sent = new Map(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  const target = `${rollout.slice(1)}/Cancel`;
  expect(sent.get("x-vedette-actor")).toBe("alice");
  expect(isSigned(sent, { target, body }, actorKey)).toBe(true);
});

it("logs the name of the caller", async () => {
  await bench.call(`${rollout}/Cancel`, "of-bob");

  expect(bench.lines).toContainEqual(
    expect.objectContaining({ message: "call answered", actor: "bob", status: 200 }),
  );
});

const notify = "/vedette.v1.SentinelService/gw-1/NotifyReady";
const ready = { image: "registry.example.com/team/sentinel:v2" };

it.each([
  ["reader", { Status: 200, Cancel: 403, notify: 403 }],
  ["driver", { Status: 200, Cancel: 200, notify: 200 }],
  ["approver", { Status: 200, Cancel: 403, notify: 403 }],
  ["platform", { Status: 403, Cancel: 403, notify: 200 }],
  ["alice", { Status: 200, Cancel: 200, notify: 200 }],
])("lets %s do what its roles say: %j", async (name, expected) => {
  const answers = {
    Status: await bench.call(`${rollout}/Status`, `of-${name}`),
    Cancel: await bench.call(`${rollout}/Cancel`, `of-${name}`),
    notify: await bench.call(notify, `of-${name}`, { body: ready }),
  };

  expect(answers).toEqual(expected);
  expect(bench.reached).toHaveLength(Object.values(expected).filter((it) => it === 200).length);
});

const hash = "ab".repeat(32);
const changes: Record<string, object> = {
  "/vedette.v1.Definitions/singleton/Apply": { definitions: {}, base: null },
  "/vedette.v1.Definitions/singleton/Apply/send": { definitions: {}, base: null },
  "/vedette.v1.AlertRoutes/singleton/Apply": {},
  "/vedette.v1.MonitorRunners/Add": { location: "fra", token_hash: hash },
  "/vedette.v1.MonitorRunners/Remove": { location: "fra" },
  "/vedette.v1.Heartbeat/nightly/Register": { token_hash: hash },
};

it.each(Object.entries(changes))("%s is for whoever may configure", async (path, body) => {
  const others = ["reader", "driver", "approver", "platform"];

  const refused = await Promise.all(others.map((name) => bench.call(path, `of-${name}`, { body })));

  expect(refused).toEqual([403, 403, 403, 403]);
  expect(bench.reached).toEqual([]);
  expect(await bench.call(path, "of-author", { body })).not.toBe(403);
  expect(await bench.call(path, "of-alice", { body })).not.toBe(403);
});

it("whoever may configure starts, approves and mutes nothing", async () => {
  const paths = [
    `${rollout}/Rollout`,
    `${rollout}/Approve`,
    "/vedette.v1.ApiCheck/home/Mute",
    notify,
  ];

  const answers = await Promise.all(paths.map((path) => bench.call(path, "of-author")));

  expect(answers).toEqual([403, 403, 403, 403]);
  expect(await bench.call(`${rollout}/Status`, "of-author")).toBe(200);
});

it.each([
  ["reader", 403],
  ["driver", 200],
  ["platform", 403],
])("a drill that %s would begin is answered %i", async (name, status) => {
  expect(await bench.call("/vedette.v1.Drill/weekly/Run", `of-${name}`)).toBe(status);
});
