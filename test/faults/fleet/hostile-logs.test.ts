/** Logs that are endless, slow or hostile: reading one ends, and what is kept of it does no harm. */
import type { ServerResponse } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { fleetConfig } from "#fleet/config.ts";
import { drivers } from "#fleet/drivers/index.ts";
import { createLogBudget } from "#fleet/logs/budget.ts";
import { createSaveLog } from "#fleet/logs/store.ts";
import { createLog } from "#kernel/log.ts";
import { startScriptedFleet } from "../../support/rollout/scripted-fleet.ts";

const log = createLog({ level: "silent", format: "json" });

/** What is kept of a failed deploy whose fleet answers its log so, and how long that took (ms). */
async function keep(answerLog: (answer: ServerResponse, call: number) => void) {
  let call = 0;
  const fleet = await startScriptedFleet((_, answer) => answerLog(answer, ++call));
  const driver = drivers.http({
    fleet: fleetConfig.fleet.parse({ driver: "http", http: { url: fleet.url, token: "t" } }),
    dataDir: "unused",
    apiUrl: "http://127.0.0.1:9",
    rootKey: "root",
    findCredential: () => undefined,
    log,
  });
  onTestFinished(async () => {
    await driver.stop();
    await fleet.stop();
  });
  const kept: { lines: string; note?: string | undefined }[] = [];
  const keepLog = createSaveLog({
    driver,
    store: { keep: async (_id, { lines, note }) => void kept.push({ lines, note }) },
    budget: createLogBudget(),
    lines: 100,
    log,
  });
  const beganMs = performance.now();
  await keepLog({ sentinelId: "gw-1", image: "v2", deployId: "d1", reason: "crash_loop" });
  return { kept: kept[0], calls: fleet.calls, tookMs: performance.now() - beganMs };
}

/** As fast as it is taken. */
function flood(answer: ServerResponse, chunk: Buffer): void {
  while (!answer.destroyed && answer.write(chunk));
  if (!answer.destroyed) answer.once("drain", () => flood(answer, chunk));
}

it.each([
  ["one line without an end", Buffer.alloc(65_536, "x")],
  ["lines without an end", Buffer.from("line\n".repeat(10_000))],
  ["NULs without an end", Buffer.alloc(65_536)],
  ["escape sequences without an end", Buffer.from("\u001b[31m".repeat(10_000))],
  ["bytes that are no text, without an end", Buffer.alloc(65_536, 0xff)],
])("of %s a bounded and clean end is kept, in time", async (_name, chunk) => {
  const { kept, tookMs } = await keep((answer) => flood(answer, chunk));

  expect(tookMs).toBeLessThan(2_500);
  expect(Buffer.byteLength(kept?.lines ?? "")).toBeLessThanOrEqual(16_384);
  expect(kept?.lines.split("\n").length).toBeLessThanOrEqual(100);
  expect(kept?.lines).not.toMatch(/[^\n\P{Cc}]/u);
  expect(kept?.lines.isWellFormed()).toBe(true);
});

it("of one whose last lines are very long it is asked again for fewer of them", async () => {
  const { kept, calls } = await keep((answer, call) =>
    answer.end(call === 1 ? `${"x".repeat(5_000_000)}\nlast` : "last"),
  );

  expect(kept).toEqual({ lines: "last", note: undefined });
  expect(calls).toHaveLength(2);
});

it("of one that drips what came in time is kept", async () => {
  const { kept, tookMs } = await keep((answer) => {
    const drip = setInterval(() => answer.write("drip\n"), 50);
    answer.once("close", () => clearInterval(drip));
  });

  expect(tookMs).toBeLessThan(2_500);
  expect(kept?.lines).toMatch(/^drip\n.*drip$/s);
});

it("of one that never begins there is a note", async () => {
  const { kept, tookMs } = await keep(() => {});

  expect(tookMs).toBeLessThan(2_500);
  const note = /^unreachable: the fleet did not answer in time at http:\/\/127\.0\.0\.1:\d+$/;
  expect(kept).toEqual({ lines: "", note: expect.stringMatching(note) });
});

it.each([
  ["a web page", 200, "<!doctype html><title>Sign in</title>", "the fleet answered a web page"],
  ["a redirect", 302, "", "the fleet answered 302"],
  ["an error with a body", 500, "boom", "the fleet answered 500"],
  ["404", 404, "", "the fleet has no log of it"],
])("of %s there is a note", async (_name, status, body, note) => {
  const { kept, calls } = await keep((answer) => {
    answer.writeHead(status, { location: "/elsewhere" }).end(body);
  });

  expect(kept).toEqual({ lines: "", note });
  expect(calls).toHaveLength(1);
});

it("of one with secrets and pictures the text is kept without them", async () => {
  const { kept } = await keep((answer) =>
    answer.end("\u001b]0;owned\u0007\u001b[1mpass\u001b[0mword=hunter2\r\n\u202eevil\u0000\n"),
  );

  expect(kept?.lines).toBe("password=***\n evil");
});
