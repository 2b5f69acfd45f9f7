import { Registry } from "prom-client";
import { expect, it } from "vitest";
import type { DeployStep } from "#fleet/deploys/contract.ts";
import type { Deployer, NextPoll } from "#fleet/deploys/deployer.ts";
import { createCountDeploys } from "#fleet/metrics.ts";

const order = { sentinelId: "eu-1", image: "registry.example.com/team/app:v2", deployId: "d" };
const next: NextPoll = { isPending: false, pollMs: 200, isDue: false, isPushed: false };

/** The metrics after a deploy with these steps, and what its steps answered. */
async function countsOf(...steps: DeployStep[]): Promise<{ text: string; answers: DeployStep[] }> {
  const registry = new Registry();
  const left = [...steps];
  const takeStep = async () => left.shift() as DeployStep;
  const deployer: Deployer = { start: takeStep, observe: takeStep };
  const counted = createCountDeploys(registry)("singleton", deployer);
  const answers = [await counted.start(order, 60_000)];
  while (left.length > 0) answers.push(await counted.observe(order, next, 60_000));
  return { text: await registry.metrics(), answers };
}

it("the metrics have the duration of a deploy once, and change no step", async () => {
  const steps: DeployStep[] = [
    { status: "progressing", watch: { atMs: 0, watchedMs: 100 } },
    { status: "ready", watch: { atMs: 0, watchedMs: 2_000 } },
  ];

  const { text, answers } = await countsOf(...steps);

  expect(answers).toEqual(steps);
  expect(text).toContain('vedette_deploy_duration_seconds_sum{fleet="singleton",result="ready"} 2');
  expect(text).toContain(
    'vedette_deploy_duration_seconds_count{fleet="singleton",result="ready"} 1',
  );
  expect(text).toContain(
    'vedette_deploy_duration_seconds_bucket{le="1",fleet="singleton",result="ready"} 0',
  );
});

it.each([
  ["crash_loop: it ended 3 times", "crash_loop"],
  ["something of the fleet's own", "other"],
])("counts the failure %j by its code", async (reason, code) => {
  const failed: DeployStep = { status: "failed", reason, watch: { atMs: 0, watchedMs: 500 } };

  const { text } = await countsOf(failed);

  expect(text).toContain(`vedette_deploy_failures_total{fleet="singleton",code="${code}"} 1`);
  expect(text).toContain(
    'vedette_deploy_duration_seconds_count{fleet="singleton",result="failed"} 1',
  );
});

it("the metrics count what the fleet did not answer, and no duration of what was not ordered", async () => {
  const reason = "unreachable: the fleet did not answer in time";
  const { text } = await countsOf(
    { status: "progressing", isPending: true, reason },
    { status: "progressing", isPending: true, reason },
    { status: "progressing", reason },
    { status: "progressing", reason: "pull_backoff: the image is not there yet" },
    // Waits for an order that may be on its way.
    { status: "progressing", isPending: true },
    { status: "unordered" },
  );

  expect(text).toContain('vedette_deploy_retries_total{fleet="singleton",step="order"} 2');
  expect(text).toContain('vedette_deploy_retries_total{fleet="singleton",step="look"} 1');
  expect(text).toContain(
    'vedette_deploy_duration_seconds_count{fleet="singleton",result="ready"} 0',
  );
  expect(text).toContain(
    'vedette_deploy_duration_seconds_count{fleet="singleton",result="failed"} 0',
  );
  expect(text).toContain('vedette_deploy_failures_total{fleet="singleton",code="oom_killed"} 0');
});
