/** The path by which pages call handlers. */
import { fastify } from "fastify";
import { describe, expect, it } from "vitest";
import { serveCalls } from "#console/server/console.ts";
import { consoleAccess } from "#control/console-access.ts";
import { createLog } from "#kernel/log.ts";
import { ProblemError, toProblem } from "#kernel/problem.ts";
import { roles } from "#kernel/roles.ts";

const waiting = { rollout_id: "inv_1", state: "in_progress" };
const log = createLog({ level: "silent", format: "json" });

/** The calls that were let through to Restate, but for those of Status; Approve is answered by `approve`. */
function serve(by: object, approve: () => void = () => {}) {
  const calls: { path: string }[] = [];
  const checked: string[] = [];
  const counts = { total_waves: 2, total: 4, succeeded: 2, failed: 0, in_flight: 0 };
  const nothing = { image: null, failed_sentinels: [], started_at: null, updated_at: null };
  const call = async (made: { path: string }) => {
    if (!made.path.endsWith("/Status")) calls.push(made);
    if (made.path.endsWith("/Approve")) approve();
    const state = calls.length > 0 ? "completed" : waiting.state;
    return { ...waiting, ...counts, ...nothing, state, current_wave: 1 };
  };
  const { findHandler } = consoleAccess(
    { ingressToken: "shared" },
    { identify: () => undefined, ingress: undefined as never, log, provider: undefined },
  );
  const check = (name: string) => async () => {
    checked.push(name);
    return by;
  };
  const parts = {
    access: { call, findHandler },
    guard: { requireWriter: check("writer"), requireSession: check("session") },
    lives: new Map([["singleton", { poll: () => {} }]]),
    log,
  };
  const app = fastify();
  app.setErrorHandler((error, _request, reply) => {
    const problem = toProblem(error);
    return reply.code(problem.status).send(problem);
  });
  serveCalls(app, parts as unknown as Parameters<typeof serveCalls>[1]);
  const send = (path: string, payload: object) =>
    app.inject({ method: "POST", url: `/api/vedette.v1.${path}`, payload });
  return { send, calls, checked };
}

describe("an operation on the rollout", () => {
  const ben = { actor: "ben", roles: ["approve"] };
  const path = "SentinelRolloutService/singleton/Approve";
  const order = { rollout_id: "inv_1", wave: 2, reason: "the canaries are fine" };

  it("an approval is made in the operator's name, for the wave that was seen", async () => {
    const { send, calls } = serve(ben);

    const answer = await send(path, { ...order, expect: waiting });

    expect(answer.statusCode).toBe(200);
    expect(calls).toMatchObject([
      { path: `/vedette.v1.${path}`, body: order, by: ben, blocks: false },
    ]);
  });

  it("an approval that the server refuses is answered with its words", async () => {
    const detail = "ben has started this rollout; another operator has to approve it";
    const { send } = serve(ben, () => {
      throw new ProblemError({ status: 403, code: "not_an_approver", detail });
    });

    const answer = await send(path, { ...order, expect: waiting });

    expect(answer.statusCode).toBe(403);
    expect(answer.json().detail).toBe(detail);
  });

  it("an approval of another rollout than the one that runs by now is not sent", async () => {
    const { send, calls } = serve(ben);

    const answer = await send(path, { ...order, expect: { ...waiting, rollout_id: "inv_0" } });

    expect(answer.statusCode).toBe(409);
    expect(calls).toEqual([]);
  });

  it("an operation that names no state that was seen is not sent", async () => {
    const { send, calls } = serve(ben);

    const answer = await send(path, order);

    expect(answer.statusCode).toBe(400);
    expect(calls).toEqual([]);
  });
});

describe("an order about rows", () => {
  const alice = { actor: "alice", roles: ["operate"] };
  const freeze = { id: "year-end", kind: "freeze", reason: "nobody is here" };
  const pin = { id: "debug-gw-7", ids: ["gw-7"], reason: "a memory leak is looked at there" };
  const removal = { id: "year-end", reason: "it is over" };

  it.each([
    ["RolloutWindows/Add", freeze, { ...freeze, time_zone: "UTC" }],
    ["RolloutWindows/Remove", removal, removal],
    ["RolloutPins/Add", pin, pin],
    ["RolloutPins/Remove", removal, removal],
  ])("to %s is made in the operator's name", async (handler, payload, body) => {
    const { send, calls } = serve(alice);

    const answer = await send(handler, payload);

    const path = `/vedette.v1.${handler}`;
    expect(answer.statusCode).toBe(200);
    expect(calls).toMatchObject([{ path, body, by: alice }]);
  });

  it.each([
    ["RolloutWindows/Add", { ...freeze, id: "Year end", from: "09:00" }, /^id: must be lower-case/],
    ["RolloutPins/Add", { id: "p", reason: "why" }, /^ids: must have ids, regions or labels$/],
    ["RolloutPins/Add", { ...pin, labels: { "a b": "1" } }, /^labels\.a b: must be a label's name/],
    ["RolloutPins/Remove", { id: "p" }, /^reason: /],
  ])("to %s that the contract refuses is not sent: %j", async (handler, payload, words) => {
    const { send, calls } = serve(alice);

    const answer = await send(handler, payload);

    expect(answer.statusCode).toBe(400);
    expect(answer.json().detail).toMatch(words);
    expect(calls).toEqual([]);
  });
});

describe("the path of calls", () => {
  const everybody = { actor: "everybody", roles };

  it.each([
    ["CheckReads/List", {}, ["session"]],
    ["FleetService/Log", { sentinel: "gw-7" }, ["writer"]],
    ["ApiCheck/api-liveness/Run", {}, ["writer"]],
    ["AlertEvents/Retry", { event_id: "a-check:3:opened" }, ["writer"]],
  ])(
    "asks for %s whether the call is of our own page unless it only reads",
    async (path, body, of) => {
      const { send, checked } = serve(everybody);

      const answer = await send(path, body);

      expect(answer.statusCode).toBe(200);
      expect(checked).toEqual(of);
    },
  );

  it.each([
    ["MonitorRunners/Remove", { location: "fra" }],
    ["SentinelService/gw-1/NotifyReady", { image: "vedette/sentinel:v2" }],
    ["RolloutPins/List/send", {}],
    ["RolloutPins/Nothing", {}],
    ["SentinelRolloutService/singleton/startResume", { expect: waiting }],
    ["%52olloutPins%2FAdd", { id: "p", ids: ["gw-7"], reason: "why" }],
  ])("has nothing at %s", async (path, body) => {
    const { send, calls } = serve(everybody);

    const answer = await send(path, body);

    expect(answer.statusCode).toBe(404);
    expect(calls).toEqual([]);
  });
});
