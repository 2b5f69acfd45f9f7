/** What operators may do at Restate's guarded addresses. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createAdminFront, createIngressFront } from "#control/front/front.ts";
import { createIdentify } from "#control/token.ts";
import type { FleetOperators } from "#fleet/contract.ts";
import { createLog } from "#kernel/log.ts";
import { type Role, roles } from "#kernel/roles.ts";

const rollout = "/vedette.v1.SentinelRolloutService/singleton";

async function startFronts(held: readonly Role[], fleets: readonly FleetOperators[] = []) {
  const reached: string[] = [];
  const restate = createServer((request, response) => {
    reached.push(request.url ?? "");
    response.end("{}");
  });
  const restateUrl = await listen(restate);
  const token = createHash("sha256").update("of-ada").digest("hex");
  const settings = {
    ingressUrl: restateUrl,
    adminUrl: restateUrl,
    identify: createIdentify({ ingressToken: "t", operators: { ada: { token, roles: held } } }),
    actorKey: new Uint8Array(32),
    fleets,
    log: createLog({ level: "silent", format: "json" }),
  };
  const fronts = [createIngressFront(settings), createAdminFront(settings)] as const;
  const [ingress, admin] = [await listen(fronts[0].server), await listen(fronts[1].server)];
  onTestFinished(async () => {
    await Promise.all(fronts.map(({ close }) => close()));
    for (const { server } of fronts) server.close();
    restate.close();
  });
  const call = async (url: string, method = "POST") => {
    const headers = { authorization: "Bearer of-ada", "content-type": "application/json" };
    const answer = await fetch(url, { method, headers, ...(method === "POST" && { body: "{}" }) });
    return { status: answer.status, text: await answer.text() };
  };
  return { ingress, admin, call, reached };
}

async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const calls = {
  Status: ({ ingress }: Places) => `${ingress}${rollout}/Status`,
  Cancel: ({ ingress }: Places) => `${ingress}${rollout}/Cancel/send`,
  internal: ({ ingress }: Places) => `${ingress}${rollout}/begin`,
  console: ({ admin }: Places) => `${admin}/ingress${rollout}/Cancel`,
  admin: ({ admin }: Places) => `${admin}/invocations/inv_1/kill`,
};
type Places = { ingress: string; admin: string };

it.each<[readonly Role[], Record<keyof typeof calls, number>]>([
  [["read"], { Status: 200, Cancel: 403, internal: 403, console: 403, admin: 403 }],
  [["notify"], { Status: 403, Cancel: 403, internal: 403, console: 403, admin: 403 }],
  [["operate"], { Status: 200, Cancel: 200, internal: 403, console: 200, admin: 403 }],
  [["operate", "approve"], { Status: 200, Cancel: 200, internal: 403, console: 200, admin: 403 }],
  [roles, { Status: 200, Cancel: 200, internal: 200, console: 200, admin: 200 }],
])("an operator that may %j: %j", async (held, expected) => {
  const { call, reached, ...places } = await startFronts(held);

  const statuses: Record<string, number> = {};
  for (const [name, address] of Object.entries(calls))
    statuses[name] = (await call(address(places))).status;

  expect(statuses).toEqual(expected);
  expect(reached).toHaveLength(Object.values(expected).filter((it) => it === 200).length);
});

it("an operator of another fleet changes nothing of this one, and may look", async () => {
  const fleets = [{ name: "singleton", operators: ["ben"] }, { name: "staging" }];
  const { call, reached, ...places } = await startFronts(["operate"], fleets);
  const staging = calls.Cancel(places).replace("singleton", "staging");

  const statuses = [
    (await call(calls.Cancel(places))).status,
    (await call(calls.console(places))).status,
    (await call(calls.Status(places))).status,
    (await call(staging)).status,
  ];

  expect(statuses).toEqual([403, 403, 200, 200]);
  expect(reached).toHaveLength(2);
});

it("says what was missing", async () => {
  const { call, admin } = await startFronts(["operate"]);

  const { text } = await call(`${admin}/deployments`, "GET");

  expect(JSON.parse(text).detail).toBe(
    "ada may operate; this call takes every role (control.operators)",
  );
});
