import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { setImmediate as endOfTurn } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { createGather, Journal } from "#api/analytics/recording/journal.ts";
import { createLog } from "#kernel/log.ts";
import { verificationRow } from "../../../support/api/analytics-rows.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const log = createLog({ level: "silent", format: "json" });

it("the journal writes the rows of all turns that it gathers at once, and only then says so", async () => {
  const dir = tempDir();
  const gathered = Promise.withResolvers<void>();
  const journal = new Journal({ dir, log, writeTimeoutMs: 60_000, gather: () => gathered.promise });
  onTestFinished(() => journal.turn()?.discard());

  const first = journal.add("key_verifications_v1", verificationRow());
  await endOfTurn();
  await endOfTurn();
  const second = journal.add("key_verifications_v1", verificationRow());
  expect(readdirSync(dir)).toEqual([]);
  gathered.resolve();
  await first;

  expect(second).toBe(first);
  const [file = ""] = readdirSync(dir);
  expect(readFileSync(path.join(dir, file), "utf8").trim().split("\n")).toHaveLength(2);
});

it("gathers for the rest of the turn while the loop has time", async () => {
  const order: string[] = [];
  const gathered = createGather(() => false)().then(() => order.push("gathered"));
  const turn = endOfTurn().then(() => order.push("turn"));

  await Promise.all([gathered, turn]);

  expect(order).toEqual(["gathered", "turn"]);
});

it("gathers for a millisecond while the loop is busy", async () => {
  const gather = createGather(() => true);
  const startedAt = performance.now();

  for (let time = 0; time < 20; time += 1) await gather();

  // Any single timer may be early by a part of a millisecond.
  expect(performance.now() - startedAt).toBeGreaterThan(15);
});
