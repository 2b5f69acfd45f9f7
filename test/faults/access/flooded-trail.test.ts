/** Callers who make so many calls at once that the audit log could not have them all. */
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { createTrail } from "#control/sign-in/trail.ts";
import type { AccessEvent } from "#kernel/audit.ts";
import type { Database } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";

/** A database that takes rows slowly, or none at all. */
function aDatabase({ takesRows = true } = {}) {
  const rows: { event: string; actor_id: string; description: string }[] = [];
  const query = async (_: string, [json]: [string]) => {
    await delay(20);
    if (!takesRows) throw new Error("away");
    rows.push(...JSON.parse(json));
    return { rows: [] };
  };
  return { rows, database: { query } as unknown as Database };
}

const aCall = (actor: string, handler = "Resume"): AccessEvent => ({
  ...{ event: "call", actor },
  what: `/vedette.v1.SentinelRolloutService/singleton/${handler}`,
});
const log = createLog({ level: "silent", format: "json" });

async function flood(trail: ReturnType<typeof createTrail>, calls: number) {
  const made = Array.from({ length: calls }, () => trail.record(aCall("pipeline")));
  const outcomes = await Promise.allSettled(made);
  return outcomes.filter(({ status }) => status === "fulfilled").length;
}

it("a flood of one caller's calls hides neither one of them nor the sign-in of another", async () => {
  const { rows, database } = aDatabase();
  const trail = createTrail({ database, log });

  const flooded = flood(trail, 1_500);
  await trail.record({ event: "session.start", actor: "alice", what: "token" });
  const accepted = await flooded;
  await trail.stop();

  expect(rows.filter(({ actor_id }) => actor_id === "alice")).toHaveLength(1);
  expect(rows.filter(({ actor_id }) => actor_id === "pipeline")).toHaveLength(accepted);
});

it("a call for whose record there is no room is not made while others are recorded", async () => {
  const { rows, database } = aDatabase();
  const trail = createTrail({ database, log });

  const accepted = await flood(trail, 5_000);
  await trail.stop();

  expect(accepted).toBeLessThan(5_000);
  expect(rows).toHaveLength(accepted);
}, 20_000);

it.each(["Cancel", "Pause", "Cancel/send"])(
  "a %s goes on in the midst of its caller's flood, and is recorded",
  async (handler) => {
    const { rows, database } = aDatabase();
    const trail = createTrail({ database, log });

    const flooded = flood(trail, 5_000);
    await trail.record(aCall("pipeline", handler));

    expect(rows.map(({ description }) => description)).toContainEqual(
      expect.stringMatching(`/${handler}$`),
    );
    await flooded;
    await trail.stop();
  },
  20_000,
);

it("while Postgres is away a caller's many calls keep nobody from the log, and go on", async () => {
  const { database } = aDatabase({ takesRows: false });
  const trail = createTrail({ database, log });

  const accepted = await flood(trail, 1_500);

  expect(accepted).toBe(1_500);
  await trail.stop();
}, 20_000);
