/** A check of each kind on a real Restate and a real database, here and at a further place. */
import { createHash, randomBytes } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { startMonitorRunner } from "#app/runner.ts";
import { readConfig } from "#config.ts";
import { createControl } from "#control/control.ts";
import { createLog } from "#kernel/log.ts";
import { createRunnerDoor } from "#monitor/locations/gateway.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";
import { startEveryKind } from "../../../support/servers/every-kind.ts";
import { waitFor } from "../../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });

type Bench = Awaited<ReturnType<typeof startMonitorBench>>;

/** The newest result of each check at a location, once there is one of every check. */
function untilAllRan(bench: Bench, at: string) {
  return waitFor(
    async () => {
      const results = (await bench.results()).filter(({ location }) => location === at);
      const byCheck = new Map(results.map((result) => [result.check, result]));
      return byCheck.size === 4 && Object.fromEntries(byCheck);
    },
    { withinMs: 60_000, what: `results of four checks at ${at}` },
  );
}

const wellBesidesTls = {
  "of-tcp": { grade: "ok" },
  "of-dns": { grade: "ok" },
  "of-steps": { grade: "ok" },
  "of-tls": { grade: "failed" },
};

it("a check of each kind alerts when it fails, and resolves when it is well again", async () => {
  const kinds = await startEveryKind();
  const bench = await startMonitorBench({ apiChecks: kinds.checks });

  await bench.start();
  const well = await untilAllRan(bench, "local");
  await bench.untilOrders(1);
  kinds.fail();
  await bench.untilOrders(4);
  kinds.recover();
  await bench.untilOrders(7);

  expect(well).toMatchObject(wellBesidesTls);
  const told = bench.orders.map(({ transition }) => transition);
  const opened = told.filter(({ kind }) => kind === "opened");
  expect(Object.fromEntries(opened.map(({ checkId, reason }) => [checkId, reason]))).toEqual({
    "of-tls": expect.stringMatching(/^local: the TLS connection failed/),
    "of-tcp": 'local: answered "-ERR", expected to contain "+PONG"',
    "of-dns": "local: the name server failed (SERVFAIL)",
    "of-steps": "local: step 2: answered 503, expected 200",
  });
  const resolved = told.filter(({ kind }) => kind === "resolved");
  expect(resolved.map(({ checkId }) => checkId).sort()).toEqual(["of-dns", "of-steps", "of-tcp"]);
});

it("a runner at a further place runs a check of each kind", async () => {
  const kinds = await startEveryKind();
  const bench = await startMonitorBench({ apiChecks: kinds.checks });
  const token = randomBytes(32).toString("base64url");
  const tokenHash = createHash("sha256").update(token).digest("hex");
  await bench.runners.add("fra", { tokenHash, by: "ada" });
  const control = await serveRunners(bench, kinds.checks);
  const config = readConfig({ environment: {} });
  const settings = { control, token, location: "fra", log };

  await bench.start();
  const runner = await startMonitorRunner(config, settings);
  onTestFinished(() => runner.stop());
  const results = await untilAllRan(bench, "fra");

  expect(results).toMatchObject(wellBesidesTls);
});

/** Control with the door for runners, at the address that is answered. */
async function serveRunners(
  bench: Bench,
  checks: Awaited<ReturnType<typeof startEveryKind>>["checks"],
): Promise<string> {
  const { ingressUrl } = bench.restate;
  const door = createRunnerDoor({
    runners: bench.runners,
    readChecks: async () => checks,
    whyOff: () => [],
    baseUrl: bench.target.url,
    report: bench.states.report,
    nowMs: Date.now,
  });
  const control = createControl({ ingressUrl, ingressToken: "the-token", log, doors: [door] });
  onTestFinished(() => control.close());
  return control.listen({ host: "127.0.0.1", port: 0 });
}
