/** How long the longest test files take, in seconds on two cores: for the order in which they begin. */

/**
 * Roughly is enough. Only files of the sweeps that take half a minute have a line: elsewhere files are many and
 * short, and beginning with the longest would begin with all browsers at once.
 */
export const fileSeconds: Readonly<Record<string, number>> = {
  "test/sweeps/worker/cluster.test.ts": 240,
  "test/sweeps/worker/versions.test.ts": 230,
  "test/sweeps/rollout/model.test.ts": 200,
  "test/sweeps/rollout/versions.test.ts": 185,
  "test/sweeps/package/tutorial.test.ts": 175,
  "test/sweeps/program/policy-sweep.test.ts": 170,
  "test/sweeps/routing/incident/apply-kills.test.ts": 160,
  "test/sweeps/package/install.test.ts": 145,
  "test/sweeps/alerts/step-sweep.test.ts": 130,
  "test/sweeps/containers/image.test.ts": 105,
  "test/sweeps/program/converging.test.ts": 170,
  "test/sweeps/program/crash-sweep.test.ts": 100,
  "test/sweeps/rollout/gone-back.test.ts": 90,
  "test/sweeps/rollout/wait-kills.test.ts": 120,
  "test/sweeps/fleet/kubernetes-rollout.test.ts": 85,
  "test/sweeps/fleet/docker-changes.test.ts": 70,
  "test/sweeps/definitions/apply-kills.test.ts": 65,
  "test/sweeps/program/cancel-sweep.test.ts": 65,
  "test/sweeps/program/alert-sweep.test.ts": 75,
  "test/sweeps/monitor/heartbeat/restored.test.ts": 60,
  "test/sweeps/kernel/year.test.ts": 55,
  "test/sweeps/monitor/check/kills.test.ts": 45,
  "test/sweeps/program/told-to-stop.test.ts": 40,
  "test/sweeps/program/hung-servers.test.ts": 40,
  "test/sweeps/fleet/docker-rollout.test.ts": 35,
  "test/sweeps/program/episodes.test.ts": 35,
  "test/sweeps/program/leaving.test.ts": 30,
  "test/sweeps/rollout/comparison.test.ts": 30,
  "test/sweeps/routing/histories.test.ts": 30,
};
