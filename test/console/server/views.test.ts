/** What the console's own reads ask of the database. */
import { fastify } from "fastify";
import { expect, it } from "vitest";
import { serveViews } from "#console/server/views.ts";
import { toProblem } from "#kernel/problem.ts";

/** The bodies that were let through to the database. */
function serve() {
  const asked: unknown[] = [];
  const ask = async (...what: unknown[]) => {
    asked.push(what);
    throw new Error("there is no database here");
  };
  const parts = {
    guard: { requireSession: async () => ({ actor: "alice" }) },
    readMoment: ask,
    fleet: { one: ask },
    fleetPages: { overview: ask, deploys: ask },
    listApis: ask,
    fleets: ["singleton"],
  };
  const app = fastify();
  app.setErrorHandler((error, _request, reply) => reply.code(toProblem(error).status).send());
  serveViews(app, parts as unknown as Parameters<typeof serveViews>[1]);
  return { app, asked };
}

it.each([
  ["past-rollout", { rollout_id: "inv_\0" }],
  ["sentinel", { id: "gw\0", rollout_id: null }],
  ["sentinel", { id: "gw", rollout_id: "inv_\0" }],
  ["sentinel-deploys", { id: "gw\0" }],
  ["fleet", { search: "\0" }],
  ["fleet", { region: "eu\0" }],
  ["fleet", { image: "app\0" }],
  ["key-usage", { workspace_id: "ws_\0" }],
])("refuses a read of %s with %j, which Postgres keeps no text of", async (name, payload) => {
  const { app, asked } = serve();

  const answer = await app.inject({ method: "POST", url: `/api/read/${name}`, payload });

  expect(answer.statusCode).toBe(400);
  expect(asked).toEqual([]);
});

it("answers a past rollout that nobody knows with 404", async () => {
  const app = fastify();
  app.setErrorHandler((error, _request, reply) => reply.code(toProblem(error).status).send());
  const readMoment = async () => ({ recorded: undefined, members: [], fleet: [] });
  const parts = { guard: { requireSession: async () => ({ actor: "alice" }) }, readMoment };
  serveViews(app, { ...parts, fleetPages: {}, fleets: [] } as unknown as Parameters<
    typeof serveViews
  >[1]);

  const payload = { rollout_id: "inv_1" };
  const answer = await app.inject({ method: "POST", url: "/api/read/past-rollout", payload });

  expect(answer.statusCode).toBe(404);
});
