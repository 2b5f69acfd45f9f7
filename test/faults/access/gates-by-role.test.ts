/** A gate that people confirm, and what the reconciler is asked, before callers of the real program with other roles. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

const digest = (token: string) => createHash("sha256").update(token).digest("hex");
const rollout = "SentinelRolloutService/singleton";
const by = (of: string) => ({ "x-vedette-actor": of, "x-vedette-actor-proof": "A".repeat(43) });

/** By who, and what: none of them takes effect. */
const attacks: [who: string, path: string, body?: object][] = [
  ["opa", `${rollout}/Approve`, { gate: "ask" }],
  ["opa", `${rollout}/Approve/send`, { gate: "ask" }],
  ["rae", `${rollout}/Approve`, { gate: "ask" }],
  ["opa", `${rollout}/Skip`, { reason: "in a hurry" }],
  ["opa", `${rollout}/Skip`, { reason: "in a hurry", waiting_for: "gate" }],
  ["opa", `${rollout}/Resume`],
  ["app", `${rollout}/Approve`],
  ["app", `${rollout}/Approve`, { gate: "errors" }],
  ["app", `${rollout}/Approve`, { gate: "ask", wave: 3 }],
  ["app", `${rollout}/Approve`, { gate: "ask", rollout_id: "another" }],
  ["app", `${rollout}/Skip`, { reason: "x" }],
  ["rae", "RolloutPins/Add", { id: "hold", whole_fleet: true, reason: "x" }],
  ["rae", "FleetService/ConfirmList", { count: 0 }],
  ["opa", "RolloutReconciler/singleton/check"],
  ["opa", "RolloutReconciler/singleton/converge", { image: "vedette/sentinel:v3" }],
  ["opa", "RolloutReconciler/singleton/recordRefusal", { image: "x", refusal: "x" }],
  ["", "RolloutReconciler/singleton/converge", { image: "vedette/sentinel:v3" }],
];

async function servePrometheus() {
  const got: string[] = [];
  const server = createServer((request, response) => {
    got.push(`${request.url} ${request.headers.authorization}`);
    response.end('{"status":"success","data":{"resultType":"scalar","result":[1,"0"]}}');
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  return { got, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

it("no caller without the role opens a gate, holds a sentinel or speaks for the reconciler", async () => {
  const prometheus = await servePrometheus();
  const program = await startProgram({
    VEDETTE_FLEET__PROCESS__SIZE: "2",
    VEDETTE_ROLLOUT__PROMETHEUS_URL: prometheus.url,
    VEDETTE_ROLLOUT__PROMETHEUS_TOKEN: "green egret dives 82",
    VEDETTE_CONTROL__OPERATORS__RAE__TOKEN: digest("of-rae"),
    VEDETTE_CONTROL__OPERATORS__RAE__ROLES: "read",
    VEDETTE_CONTROL__OPERATORS__OPA__TOKEN: digest("of-opa"),
    VEDETTE_CONTROL__OPERATORS__OPA__ROLES: "operate",
    VEDETTE_CONTROL__OPERATORS__APP__TOKEN: digest("of-app"),
    VEDETTE_CONTROL__OPERATORS__APP__ROLES: "approve",
  });
  onTestFinished(() => program.dispose());
  const { control, restate_ingress: ingress, restate_admin: admin } = program.endpoints();
  const post = async (url: string, who: string, body: object = {}) => {
    const token = who === "" ? program.token() : `of-${who}`;
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const options = { method: "POST", headers: { ...headers, ...by("reconciler") } };
    const answer = await fetch(url, { ...options, body: JSON.stringify(body) });
    await answer.text();
    return answer.status;
  };
  const status = async () => (await program.call("Status")).body;
  const untilStatus = (what: string, isWanted: (of: Record<string, unknown>) => boolean) =>
    waitFor(async () => isWanted(await status()), { withinMs: 60_000, what });
  const gates = [
    { kind: "pause", name: "ask", timeout_seconds: 3_000 },
    { kind: "prometheus", name: "errors", query: "up", pass: "< 1", count: 1, interval_seconds: 5 },
  ];
  const asked = { image: "vedette/sentinel:v2", wave_percentages: [50, 100], gates };
  const begun = post(`${control}/vedette.v1.${rollout}/Rollout`, "opa", asked);
  await untilStatus("the gate", ({ waiting_for }) => waiting_for === "gate");
  await waitFor(() => prometheus.got.length > 0, { withinMs: 20_000, what: "a query" });

  const taken: string[] = [];
  for (const [who, path, body] of attacks) {
    for (const place of [control, `${ingress}`, `${admin}/ingress`]) {
      const code = await post(`${place}/vedette.v1.${path}`, who, body);
      if (code < 400) taken.push(`${who}: ${path} ${JSON.stringify(body)}`);
    }
  }
  await program.callAs("of-opa", "Pause");
  const resumed = post(`${control}/vedette.v1.${rollout}/Resume`, "opa");
  await untilStatus("the gate again", ({ waiting_for }) => waiting_for === "gate");

  expect(taken).toEqual([]);
  expect(await status()).toMatchObject({ current_wave: 1, succeeded: 1 });
  expect(new Set(prometheus.got)).toEqual(new Set(["/api/v1/query Bearer green egret dives 82"]));
  expect(program.output()).not.toContain("green egret dives 82");
  expect((await program.callAs("of-app", "Approve", { gate: "ask" })).status).toBe(200);
  await untilStatus("its end", ({ state }) => state === "completed");
  await Promise.all([begun, resumed]);
  const { body } = await program.call("History");
  expect(body).toMatchObject({ rollouts: [{ started_by: "opa" }] });
});
