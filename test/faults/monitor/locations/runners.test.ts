import { createHash, randomBytes } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { anApiCheck } from "../../../support/monitor/check-builders.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";
import { waitFor } from "../../../support/wait-for.ts";

const makeHash = () => createHash("sha256").update(randomBytes(32)).digest("hex");
const add = "vedette.v1.MonitorRunners/Add";

it("the location of the program itself gets no other runner", async () => {
  const bench = await startMonitorBench({ apiChecks: [anApiCheck()] });

  const { status, body } = await bench.call(add, { location: "local", token_hash: makeHash() });

  expect(status).toBe(409);
  expect(body.message).toContain("local is the location of Vedette itself");
});

it("the token of another location is refused, at once", async () => {
  const bench = await startMonitorBench({ apiChecks: [anApiCheck()] });
  const token_hash = makeHash();
  await bench.call(add, { location: "fra", token_hash });

  const { status, body } = await bench.call(add, { location: "ams", token_hash });

  expect(status).toBe(409);
  expect(body.message).toContain("has this token");
});

/** The place `fra` is known, and a while ago; `other` keeps whoever asks again waiting. */
async function hangingBench() {
  const bench = await startMonitorBench({ apiChecks: [anApiCheck()] });
  const enter = async (location: string) => {
    const token_hash = makeHash();
    await bench.call(add, { location, token_hash });
    await bench.runners.identify(Buffer.from(token_hash, "hex"));
  };
  await enter("fra");
  await waitFor(async () => (await bench.runners.expected()).length > 0, {
    withinMs: 5_000,
    what: "the place to be known",
  });
  const other = await bench.database.connect();
  onTestFinished(() => other.release());
  await other.query("BEGIN");
  await other.query("LOCK TABLE check_runners");
  const lockedMs = Date.now();
  await waitFor(() => Date.now() - lockedMs > 1_100, { withinMs: 5_000, what: "it to be old" });
  return { bench, other, enter };
}

it("runs do not wait for a database that hangs: the last known locations are expected", async () => {
  const { bench, other } = await hangingBench();

  const askedMs = Date.now();
  const places = await bench.runners.expected();
  const tookMs = Date.now() - askedMs;
  await other.query("ROLLBACK");

  expect(places).toEqual(["fra"]);
  expect(tookMs).toBeLessThan(4_000);
});

it("new locations are expected after a query that hung has failed", async () => {
  const { bench, other, enter } = await hangingBench();
  expect(await bench.runners.expected()).toEqual(["fra"]);

  const { rowCount } = await other.query(endWaiting);
  await other.query("ROLLBACK");
  await enter("ams");

  expect(rowCount).toBe(1);
  await waitFor(async () => (await bench.runners.expected()).includes("ams"), {
    withinMs: 10_000,
    what: "the new place to be expected",
  });
});

const endWaiting = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%check_runners%'`;
