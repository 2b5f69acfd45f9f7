/** The routes that add and remove windows. */
import { fastify } from "fastify";
import { describe, expect, it } from "vitest";
import { serveWindowOrders } from "#console/window-orders.ts";
import { toProblem } from "#kernel/problem.ts";

/** The calls that were let through to Restate. */
function serve() {
  const calls: unknown[] = [];
  const call = async (made: unknown) => {
    calls.push(made);
    return {};
  };
  const parts = {
    access: { call },
    guard: { requireWriter: async () => ({ actor: "alice" }) },
    log: { info: () => {} },
  };
  const app = fastify();
  app.setErrorHandler((error, _request, reply) => {
    const problem = toProblem(error);
    return reply.code(problem.status).send(problem);
  });
  serveWindowOrders(app, parts as unknown as Parameters<typeof serveWindowOrders>[1]);
  return { app, calls };
}

const freeze = { id: "year-end", kind: "freeze", reason: "nobody is here" };

describe("an order on windows", () => {
  it.each([
    ["add", freeze, "Add", { ...freeze, time_zone: "UTC" }],
    [
      "remove",
      { id: "year-end", reason: "it is over" },
      "Remove",
      { id: "year-end", reason: "it is over" },
    ],
  ])("to %s one is made by the operator", async (name, payload, handler, body) => {
    const { app, calls } = serve();

    const answer = await app.inject({ method: "POST", url: `/api/window/${name}`, payload });

    const path = `/vedette.v1.RolloutWindows/${handler}`;
    expect(answer.statusCode).toBe(200);
    expect(calls).toMatchObject([{ path, body, actor: "alice" }]);
  });

  it("that the contract refuses is not sent, and names each field", async () => {
    const { app, calls } = serve();

    const payload = { ...freeze, id: "Year end", from: "09:00" };
    const answer = await app.inject({ method: "POST", url: "/api/window/add", payload });

    expect(answer.statusCode).toBe(400);
    expect(answer.json().detail).toMatch(/^id: must be lower-case/);
    expect(calls).toEqual([]);
  });
});
