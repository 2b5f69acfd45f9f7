/** Metrics of deploys, in the process that made their last step, and of the fleets by state. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { DeployStep } from "#fleet/deploys/contract.ts";
import type { Deployer } from "#fleet/deploys/deployer.ts";
import { inTime } from "#kernel/async.ts";
import type { Database } from "#kernel/database.ts";
import { deployStatuses, healths, reasonCodeOf, reasonCodes } from "./contract.ts";

/** Upper bounds of the buckets, seconds. */
const buckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];

const noCode = "other";

/** Counts the ends of deploys. A kill before the step is recorded counts it twice, in another process. */
export function createCountDeploys(registry: Registry): CountDeploys {
  const countsOf = createCounts(registry);
  return (fleet, deployer) => {
    const count = countsOf(fleet);
    return {
      ...deployer,
      start: async (...step) => count(await deployer.start(...step)),
      observe: async (...step) => count(await deployer.observe(...step)),
    };
  };
}

type CountDeploys = (fleet: string, deployer: Deployer) => Deployer;

function createCounts(registry: Registry): (fleet: string) => (step: DeployStep) => DeployStep {
  const seconds = new Histogram({
    name: "vedette_deploy_duration_seconds",
    help: "How long deploys took, from their first step to ready or failed.",
    labelNames: ["fleet", "result"],
    buckets,
    registers: [registry],
  });
  const failures = new Counter({
    name: "vedette_deploy_failures_total",
    help: "Deploys that failed, by the code of their reason; other: it has none.",
    labelNames: ["fleet", "code"],
    registers: [registry],
  });
  const retries = new Counter({
    name: "vedette_deploy_retries_total",
    help: "Orders and looks that the fleet did not answer, which the next step of the deploy repeats.",
    labelNames: ["fleet", "step"],
    registers: [registry],
  });
  const metrics = { seconds, failures, retries };
  return (fleet) => {
    startAtZero(metrics, fleet);
    return (step) => {
      countStep(metrics, fleet, step);
      return step;
    };
  };
}

type Metrics = { seconds: Histogram; failures: Counter; retries: Counter };

/** Prometheus sees no increase of a counter that appears with its first value. */
function startAtZero({ seconds, failures, retries }: Metrics, fleet: string): void {
  for (const result of ["ready", "failed"]) seconds.zero({ fleet, result });
  for (const step of ["order", "look"]) retries.inc({ fleet, step }, 0);
  for (const code of [...reasonCodes, noCode]) failures.inc({ fleet, code }, 0);
}

function countStep({ seconds, failures, retries }: Metrics, fleet: string, step: DeployStep): void {
  const { status, reason = "", watch } = step;
  if (isRepeated(step)) retries.inc({ fleet, step: step.isPending ? "order" : "look" });
  if (status === "failed") failures.inc({ fleet, code: reasonCodeOf(reason) ?? noCode });
  if (status === "ready" || status === "failed") {
    seconds.observe({ fleet, result: status }, (watch?.watchedMs ?? 0) / 1_000);
  }
}

/** True if the fleet has not answered. One whose order may still be on its way waits, and gives no reason. */
function isRepeated({ status, reason = "" }: DeployStep): boolean {
  return status === "progressing" && reasonCodeOf(reason) === "unreachable";
}

/** A scrape waits for all metrics: a database that hangs must not cost it the others. */
const readTimeoutMs = 2_000;

const everyState = deployStatuses.flatMap((deploy_status) =>
  healths.map((health) => ({ deploy_status, health })),
);

type Count = { fleet: string; deploy_status: string; health: string; sentinels: number };

/** Counts the fleets by state in Postgres at each scrape: every worker has the same values. While the database does not answer in time there are none. */
export function exposeMembers(
  database: Database,
  { fleets, registry }: { fleets: readonly string[]; registry: Registry },
): void {
  const read = async (): Promise<Count[] | undefined> =>
    (await database.query<Count>(countMembers, [fleets])).rows;
  new Gauge({
    name: "vedette_fleet_members",
    help: "Known sentinels by the state of their last deploy and by health; progressing: in flight.",
    labelNames: ["fleet", "deploy_status", "health"],
    registers: [registry],
    async collect() {
      const counts = await inTime(read, { limitMs: readTimeoutMs, otherwise: undefined });
      this.reset();
      if (counts === undefined) return;
      for (const fleet of fleets)
        for (const labels of everyState) this.set({ fleet, ...labels }, 0);
      for (const { sentinels, ...labels } of counts) this.set(labels, sentinels);
    },
  });
}

const countMembers = `
  SELECT fleet, deploy_status, health, count(*)::integer AS sentinels FROM sentinels
  WHERE fleet = ANY($1) GROUP BY 1, 2, 3`;
