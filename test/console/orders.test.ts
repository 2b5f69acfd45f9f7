/** The routes by which an operator acts on the rollout. */
import { fastify } from "fastify";
import { expect, it } from "vitest";
import { serveOrders } from "#console/orders.ts";
import { ProblemError, toProblem } from "#kernel/problem.ts";

const ben = { actor: "ben", roles: ["approve"] };
const waiting = { rollout_id: "inv_1", state: "in_progress" };
const order = { rollout_id: "inv_1", wave: 2, reason: "the canaries are fine" };

/** The calls that were let through to Restate, of which Approve is answered by `approve`. */
function serve(approve: () => void = () => {}) {
  const calls: { path: string }[] = [];
  const counts = { total_waves: 2, total: 4, succeeded: 2, failed: 0, in_flight: 0 };
  const nothing = { image: null, failed_sentinels: [], started_at: null, updated_at: null };
  const call = async (made: { path: string }) => {
    if (!made.path.endsWith("/Status")) {
      calls.push(made);
      approve();
    }
    const hasApproved = calls.length > 0;
    const state = hasApproved ? "completed" : waiting.state;
    return { ...waiting, ...counts, ...nothing, state, current_wave: 1 };
  };
  const parts = {
    access: { call },
    guard: { requireWriter: async () => ben },
    lives: new Map([["singleton", { poll: () => {} }]]),
    log: { info: () => {} },
  };
  const app = fastify();
  app.setErrorHandler((error, _request, reply) => {
    const problem = toProblem(error);
    return reply.code(problem.status).send(problem);
  });
  serveOrders(app, parts as unknown as Parameters<typeof serveOrders>[1]);
  const send = (payload: object) =>
    app.inject({ method: "POST", url: "/api/rollout/approve", payload });
  return { send, calls };
}

it("an approval is made in the operator's name, for the wave that was seen", async () => {
  const { send, calls } = serve();

  const answer = await send({ ...order, expect: waiting });

  const path = "/vedette.v1.SentinelRolloutService/singleton/Approve";
  expect(answer.statusCode).toBe(200);
  expect(calls).toMatchObject([{ path, body: order, by: ben, blocks: false }]);
});

it("an approval that the server refuses is answered with its words", async () => {
  const detail = "ben has started this rollout; another operator has to approve it";
  const { send } = serve(() => {
    throw new ProblemError({ status: 403, code: "not_an_approver", detail });
  });

  const answer = await send({ ...order, expect: waiting });

  expect(answer.statusCode).toBe(403);
  expect(answer.json().detail).toBe(detail);
});

it("an approval of another rollout than the one that runs by now is not sent", async () => {
  const { send, calls } = serve();

  const answer = await send({ ...order, expect: { ...waiting, rollout_id: "inv_0" } });

  expect(answer.statusCode).toBe(409);
  expect(calls).toEqual([]);
});
