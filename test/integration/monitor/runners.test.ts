import { createHash, randomBytes } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { anApiCheck } from "../../support/check-builders.ts";
import { startMonitorBench } from "../../support/monitor-bench.ts";
import { waitFor } from "../../support/wait-for.ts";

const makeHash = () => createHash("sha256").update(randomBytes(32)).digest("hex");
const add = "vedette.v1.MonitorRunners/Add";

it("a place where the program itself runs checks gets no other runner", async () => {
  const bench = await startMonitorBench({ apiChecks: [anApiCheck()] });

  const { status, body } = await bench.call(add, { location: "local", token_hash: makeHash() });

  expect(status).toBe(409);
  expect(body.message).toContain("local is where Vedette is");
});

it("a token that another place has is refused, at once", async () => {
  const bench = await startMonitorBench({ apiChecks: [anApiCheck()] });
  const token_hash = makeHash();
  await bench.call(add, { location: "fra", token_hash });

  const { status, body } = await bench.call(add, { location: "ams", token_hash });

  expect(status).toBe(409);
  expect(body.message).toContain("has this token");
});

it("runs do not wait for a database that hangs: the places are those that were known", async () => {
  const bench = await startMonitorBench({ apiChecks: [anApiCheck()] });
  const token_hash = makeHash();
  await bench.call(add, { location: "fra", token_hash });
  await bench.runners.greet(Buffer.from(token_hash, "hex"));
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

  const askedMs = Date.now();
  const places = await bench.runners.expected();
  const tookMs = Date.now() - askedMs;
  await other.query("ROLLBACK");

  expect(places).toEqual(["fra"]);
  expect(tookMs).toBeLessThan(4_000);
});
