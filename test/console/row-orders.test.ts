/** The routes that add and remove windows and pins. */
import { fastify } from "fastify";
import { describe, expect, it } from "vitest";
import { serveRowOrders } from "#console/console.ts";
import { toProblem } from "#kernel/problem.ts";

const alice = { actor: "alice", roles: ["operate"] };

/** The calls that were let through to Restate. */
function serve() {
  const calls: unknown[] = [];
  const call = async (made: unknown) => {
    calls.push(made);
    return {};
  };
  const parts = {
    access: { call },
    guard: { requireWriter: async () => alice },
    log: { info: () => {} },
  };
  const app = fastify();
  app.setErrorHandler((error, _request, reply) => {
    const problem = toProblem(error);
    return reply.code(problem.status).send(problem);
  });
  serveRowOrders(app, parts as unknown as Parameters<typeof serveRowOrders>[1]);
  return { app, calls };
}

const freeze = { id: "year-end", kind: "freeze", reason: "nobody is here" };
const pin = { id: "debug-gw-7", ids: ["gw-7"], reason: "a memory leak is looked at there" };
const removal = { id: "year-end", reason: "it is over" };

describe("an order of the operator", () => {
  it.each([
    ["window/add", freeze, "RolloutWindows/Add", { ...freeze, time_zone: "UTC" }],
    ["window/remove", removal, "RolloutWindows/Remove", removal],
    ["pin/add", pin, "RolloutPins/Add", pin],
    ["pin/remove", removal, "RolloutPins/Remove", removal],
  ])("to %s is made in the operator's name", async (name, payload, handler, body) => {
    const { app, calls } = serve();

    const answer = await app.inject({ method: "POST", url: `/api/${name}`, payload });

    const path = `/vedette.v1.${handler}`;
    expect(answer.statusCode).toBe(200);
    expect(calls).toMatchObject([{ path, body, by: alice }]);
  });

  it.each([
    ["window/add", { ...freeze, id: "Year end", from: "09:00" }, /^id: must be lower-case/],
    ["pin/add", { id: "p", reason: "why" }, /^ids: must have ids, regions or labels$/],
    ["pin/add", { ...pin, labels: { "a b": "1" } }, /^labels\.a b: must be a label's name/],
    ["pin/remove", { id: "p" }, /^reason: /],
  ])("to %s that the contract refuses is not sent: %j", async (name, payload, words) => {
    const { app, calls } = serve();

    const answer = await app.inject({ method: "POST", url: `/api/${name}`, payload });

    expect(answer.statusCode).toBe(400);
    expect(answer.json().detail).toMatch(words);
    expect(calls).toEqual([]);
  });
});
