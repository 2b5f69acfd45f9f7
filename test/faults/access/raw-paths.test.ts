/** A caller whom one fleet excludes has no way around its `operators` at Restate's addresses. */
import { expect, it } from "vitest";
import { roles } from "#kernel/roles.ts";
import { sendRaw } from "../../support/http/raw-request.ts";
import { startAccessBench } from "../../support/program/access-bench.ts";

/** Ada has every role, and may not change `production`; Ben may change both. */
const start = () =>
  startAccessBench({
    operators: { ada: roles, ben: roles },
    fleets: [
      { name: "singleton" },
      { name: "production", operators: ["ben"] },
      { name: "staging", operators: ["ada", "ben"] },
    ],
  });

const call = (origin: string, [method, path]: readonly [string, string], as: string) => {
  const headers = { authorization: `Bearer of-${as}`, "content-type": "application/json" };
  return sendRaw(origin, { path, method, headers, body: method === "DELETE" ? "" : "{}" });
};

const rollout = "/vedette.v1.SentinelRolloutService";

const atIngress = (
  [
    ["POST", `${rollout}/production/begin`],
    ["POST", `${rollout}/production/Rollout`],
    ["POST", `${rollout}/production/Rollout/send`],
    ["POST", `${rollout}/%70roduction/Rollout`],
    ["POST", `${rollout}/production/%52ollout`],
    ["POST", `${rollout}//production/Rollout`],
    ["POST", `/.${rollout}/production/Rollout`],
    ["POST", `/staging/..${rollout}/production/Rollout`],
    ["POST", `/staging/%2e%2e${rollout}/production/Rollout`],
    ["POST", `//elsewhere${rollout}/production/Rollout`],
    ["POST", `http://elsewhere${rollout}/production/Rollout`],
    ["POST", `${rollout}/staging%2F..%2Fproduction/Rollout`],
    ["POST", `${rollout}/production/Rollout/`],
    ["POST", `/restate/call${rollout}/production/Rollout`],
    ["POST", `/restate/send${rollout}/production/Rollout`],
    ["POST", `/restate/scope/s/call${rollout}/production/Rollout`],
    ["POST", "/vedette.v1.RolloutRunner/run"],
    ["POST", "/vedette.v1.RolloutRunner/run/send"],
    ["POST", "/vedette.v1.SentinelService/production%3Agw-1/Deploy"],
    ["POST", "/vedette.v1.SentinelService/production:gw-1/Deploy"],
    ["PATCH", "/restate/invocation/inv_1/cancel"],
    ["POST", "/restate/invocation/inv_1/cancel"],
    ["GET", "/restate/invocation/inv_1/attach"],
    ["POST", "/restate/awakeables/prom_1/resolve"],
    ["DELETE", `${rollout}/production`],
  ] as const
).map((call) => [...call] as const);

const atAdmin = [
  ["PATCH", "/invocations/inv_1/kill"],
  ["PATCH", "/invocations/inv_1/cancel"],
  ["DELETE", "/invocations/inv_1?mode=kill"],
  ["POST", "/query"],
  ["POST", "/services/vedette.v1.SentinelRolloutService/state"],
  ["PATCH", "/services/vedette.v1.SentinelRolloutService"],
  ["POST", "/deployments"],
  ["DELETE", "/deployments/dp_1"],
  ["GET", "/deployments"],
  ["POST", `/%69ngress${rollout}/production/Rollout`],
  ["POST", `/ingress/..${rollout}/production/Rollout`],
] as const;

const all = [
  ...atIngress.map((call) => ["ingress", ...call] as const),
  ...atIngress
    .filter(([, path]) => path.startsWith("/") && !path.startsWith("//"))
    .map(([method, path]) => ["admin", method, `/ingress${path}`] as const),
  ...atAdmin.map((call) => ["admin", ...call] as const),
];

it.each(all)(
  "the address of the %s refuses %s %s of whom a fleet excludes, and names the fleet",
  async (place, method, path) => {
    const { reached, ...origins } = await start();

    const answer = await call(origins[place], [method, path], "ada");

    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.body).detail).toMatch(
      /ada is no operator of the fleet production \(fleets\.production\.operators\)/,
    );
    expect(reached).toEqual([]);
  },
);

it.each(all)(
  "the address of the %s lets %s %s through for an operator of each fleet with every role",
  async (place, method, path) => {
    const { reached, ...origins } = await start();

    const answer = await call(origins[place], [method, path], "ben");

    expect(answer.status).toBe(200);
    expect(reached).toHaveLength(1);
  },
);

it.each([
  ["ingress", `${rollout}/staging/Rollout`],
  ["ingress", `${rollout}/singleton/Cancel/send`],
  ["ingress", `${rollout}/production/Status`],
  ["ingress", "/vedette.v1.FleetService/List"],
  ["admin", `/ingress${rollout}/staging/Rollout`],
] as const)(
  "the address of the %s still takes %s of whom another fleet excludes",
  async (place, path) => {
    const { reached, ...origins } = await start();

    const answer = await call(origins[place], ["POST", path], "ada");

    expect(answer.status).toBe(200);
    expect(reached).toHaveLength(1);
  },
);
