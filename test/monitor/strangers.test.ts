/** Callers with tokens that nobody has, at the doors of control. */
import { randomBytes } from "node:crypto";
import fastify from "fastify";
import { describe, expect, it, vi } from "vitest";
import type { Database } from "#kernel/database.ts";
import { createInbox } from "#monitor/heartbeat/inbox.ts";
import { createRunnerDoor } from "#monitor/locations/gateway.ts";
import { createRunners } from "#monitor/locations/runners.ts";
import { neverAsked } from "../support/never-asked.ts";

/** Knows nobody; `most`: of questions that were open at once. */
function emptyDatabase() {
  const seen = { open: 0, most: 0 };
  const query = async () => {
    seen.open += 1;
    seen.most = Math.max(seen.most, seen.open);
    await new Promise((resolve) => setImmediate(resolve));
    seen.open -= 1;
    return { rows: [] };
  };
  return { database: { query } as unknown as Database, seen };
}

const many = Array.from({ length: 200 }, () => randomBytes(32));

describe("concurrent unknown tokens are looked up by one query at a time", () => {
  it("of runners", async () => {
    const { database, seen } = emptyDatabase();
    const { identify } = createRunners(database);

    const locations = await Promise.all(many.map((hash) => identify(hash)));

    expect(new Set(locations)).toEqual(new Set([null]));
    expect(seen.most).toBe(1);
  });

  it.each(["success", "start"] as const)(
    "of heartbeats with a %s, and nothing else is done",
    async (kind) => {
      const { database, seen } = emptyDatabase();
      const inbox = createInbox({ database, recordPings: neverAsked(), decide: neverAsked() });

      const found = await Promise.all(
        many.map((hash) => inbox.receive({ token: hash.toString("hex"), ping: { kind, atMs: 0 } })),
      );

      expect(new Set(found)).toEqual(new Set([null]));
      expect(seen.most).toBe(1);
    },
  );
});

it("an unknown token is refused before the report is read", async () => {
  const app = fastify();
  const identify = vi.fn(async () => null);
  const door = {
    runners: { identify },
    readChecks: async () => [],
    whyOff: () => [],
    baseUrl: "",
    nowMs: Date.now,
  };
  await app.register(createRunnerDoor({ ...door, report: neverAsked() }).plugin);
  app.setErrorHandler((error: { status?: number; statusCode?: number }, _, reply) =>
    reply.code(error.status ?? error.statusCode ?? 500).send(),
  );

  const answer = await app.inject({
    method: "POST",
    url: "/runner/report",
    headers: {
      authorization: `Bearer ${randomBytes(32).toString("base64url")}`,
      "content-type": "application/json",
    },
    body: "{no json",
  });

  expect(answer.statusCode).toBe(401);
  expect(identify).toHaveBeenCalledTimes(1);
});
