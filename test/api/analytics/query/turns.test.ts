/** How much of the store one workspace may have. */
import { describe, expect, it } from "vitest";
import { Grants } from "#api/access/grants.ts";
import type { EngineQuery, Row } from "#api/analytics/engine/engine-client.ts";
import { engineError } from "#api/analytics/engine/engine-error.ts";
import { analyticsProcedures } from "#api/analytics/procedures.ts";
import { createTurns } from "#api/analytics/query.ts";
import { retentionFrom } from "#api/analytics/retention.ts";
import type { LimitRequest } from "#api/limiter.ts";
import type { Call } from "#api/procedure.ts";
import { neverAsked } from "../../../support/never-asked.ts";

/** Lets what has been resolved go on. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

function setUp(answer: () => Promise<Row[]>) {
  const asked: EngineQuery[] = [];
  const taken: LimitRequest[] = [];
  const query = (one: EngineQuery) => {
    asked.push(one);
    return answer();
  };
  const take = (requests: LimitRequest[]) => {
    taken.push(...requests);
    return { passed: true, answers: [] };
  };
  const procedures = analyticsProcedures({
    database: neverAsked(),
    limiter: { take } as never,
    analytics: { store: { database: "vedette", query }, retention: retentionFrom(30) },
  });
  const ask = async (workspaceId: string) => {
    const call = { workspaceId, grants: new Grants(["*"]), nowMs: Date.now() } as Call;
    return procedures["getVerifications"]?.handle({ query: "SELECT 1" }, call);
  };
  return { asked, taken, ask };
}

const forever = () => new Promise<never>(() => {});

describe("queries of one workspace", () => {
  it("leave room for somebody else's, however many come at once", async () => {
    const { asked, ask } = setUp(forever);

    for (let count = 0; count < 15; count += 1) void ask("ws_greedy");
    await settle();
    const ofOne = asked.length;
    void ask("ws_other");
    await settle();

    expect(ofOne).toBe(2);
    expect(asked).toHaveLength(3);
  });

  it("are refused with 429 once twenty wait", async () => {
    const { ask } = setUp(forever);
    for (let count = 0; count < 22; count += 1) void ask("ws_1");
    await settle();

    await expect(ask("ws_1")).rejects.toMatchObject({ status: 429 });
  });

  it("count as fifty when they use up all their time", async () => {
    const { taken, ask } = setUp(() => Promise.reject(engineError("timeout")));

    await expect(ask("ws_1")).rejects.toMatchObject({ status: 422 });

    expect(taken.map(({ cost }) => cost)).toEqual([1, 49]);
  });
});

it("a query whose turn comes when nobody waits for it any more is not run", async () => {
  const clock = { nowMs: 0 };
  const takeTurn = createTurns(() => clock.nowMs);
  const { promise, resolve } = Promise.withResolvers<string>();
  const first = [takeTurn("ws_1", () => promise), takeTurn("ws_1", () => promise)];
  const late = takeTurn("ws_1", async () => "run").catch(({ failure }) => failure);
  await settle();

  clock.nowMs = 60_000;
  resolve("done");

  expect(await Promise.all(first)).toEqual(["done", "done"]);
  expect(await late).toBe("quota");
});
