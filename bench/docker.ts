/**
 * A rollout over three Docker hosts by the command, beside the engines' own time for the same changes. Root, with
 * dockerd, docker-registry and busybox. BENCH_EACH: containers on each host.
 */
import pLimit from "p-limit";
import { startDockerEngine, type TestEngine } from "../test/support/docker/engine.ts";
import { pushImage } from "../test/support/docker/images.ts";
import { startProgram } from "../test/support/program/program.ts";
import { openDockerRegistry } from "../test/support/servers/docker-registry.ts";
import { countFrom, cpuMsOf } from "./measure.ts";
import { measureRollout } from "./rollout-command.ts";
import { finishBench, reportFigure, reportTable, startBench } from "./run.ts";

const hosts = ["edge-1", "edge-2", "edge-3"];
const each = countFrom("BENCH_EACH", 10);
const total = hosts.length * each;
/** The driver asks a host for as many at once. */
const atOnce = 4;
const stableSeconds = 1;

/** The aims (docs/measured.md, "Aims"). */
const mostTimes = { pulled: 2.3, next: 1.9 };

async function runContainers(engine: TestEngine, image: string): Promise<void> {
  for (let n = 1; n <= each; n++) await engine.run(`gw-${n}`, { image });
}

/** The changes that a replacement needs and no others, as fast as the engine takes them. */
async function replaceByHand(engine: TestEngine, name: string, image: string): Promise<void> {
  const change = async (method: "POST" | "DELETE", path: string, body?: object) => {
    const { status } = await engine.call(method, path, body);
    if (status >= 300 && status !== 304) throw new Error(`${path} answered ${status}`);
  };
  await change("POST", `/containers/create?name=${name}.next`, {
    Image: image.replace(/:[^:@]+@/, "@"),
    Labels: { "vedette.sentinel": "", "vedette.region": "eu" },
    HostConfig: { NetworkMode: "host" },
  });
  await change("POST", `/containers/${name}/stop`);
  await change("POST", `/containers/${name}/rename?name=${name}.prev`);
  await change("POST", `/containers/${name}.next/rename?name=${name}`);
  await change("POST", `/containers/${name}/start`);
  await change("DELETE", `/containers/${name}.prev`);
}

async function measureByHand(engines: readonly TestEngine[], image: string): Promise<number> {
  const startedAt = performance.now();
  await Promise.all(
    engines.flatMap((engine) => {
      const limit = pLimit(atOnce);
      return Array.from({ length: each }, (_, n) =>
        limit(() => replaceByHand(engine, `gw-${n + 1}`, image)),
      );
    }),
  );
  return performance.now() - startedAt;
}

startBench("docker");
const registry = await openDockerRegistry({ auth: "open" });
const [v1 = "", v2 = "", v3 = ""] = await Promise.all(
  ["v1", "v2", "v3"].map((tag) => pushImage(registry, tag)),
);
const engines = await Promise.all(hosts.map(() => startDockerEngine()));
for (const engine of engines) await runContainers(engine, v1);
const program = await startProgram({
  VEDETTE_FLEET__DRIVER: "docker",
  VEDETTE_FLEET__DOCKER__HOSTS: engines.map(({ url }, n) => `${hosts[n]}=${url}`).join(","),
  VEDETTE_FLEET__DOCKER__STABLE_SECONDS: String(stableSeconds),
  VEDETTE_ROLLOUT__MAX_PARALLEL: String(hosts.length * atOnce),
  VEDETTE_REGISTRY__INSECURE: registry.host,
});
try {
  const { pid } = program.endpoints();
  const cpuBefore = cpuMsOf(pid);
  const rolloutMs = [await measureRollout(program.dataDir, v2)];
  rolloutMs.push(await measureRollout(program.dataDir, v3));
  const cpuMs = (cpuMsOf(pid) - cpuBefore) / 2 / total;
  const handMs = await measureByHand(engines, v2);
  const title =
    `${total} containers on ${hosts.length} hosts, ${hosts.length * atOnce} at once, ` +
    `stable after ${stableSeconds} s`;
  reportTable(title, {
    "a rollout by the command, images pulled": { s: seconds(rolloutMs[0]) },
    "the next one": { s: seconds(rolloutMs[1]) },
    "the engines alone, without waiting": { s: seconds(handMs) },
  });
  reportFigure("seconds of a rollout, its image pulled", (rolloutMs[0] ?? 0) / 1_000, {
    unit: "s",
  });
  reportFigure("CPU of a container", cpuMs, { unit: "ms" });
  reportFigure(
    "a rollout, its image pulled, against the engines alone",
    (rolloutMs[0] ?? 0) / handMs,
    {
      atMost: mostTimes.pulled,
      unit: "times",
    },
  );
  reportFigure("the next one", (rolloutMs[1] ?? 0) / handMs, {
    atMost: mostTimes.next,
    unit: "times",
  });
} finally {
  await program.dispose();
  for (const engine of engines) await engine.stop();
  await registry.stop();
}

function seconds(ms = 0): string {
  return (ms / 1_000).toFixed(1);
}
finishBench();
