/**
 * A rollout over Deployments by the command, beside the same changes at the same API server by hand. The server is the
 * tests' own, in this process: its controller and pods take no time of their own but what BENCH_READY_MS says.
 * BENCH_SIZE: Deployments.
 */
import { setTimeout as delay } from "node:timers/promises";
import pLimit from "p-limit";
import { Agent, request } from "undici";
import {
  type ApiServer,
  adminToken,
  openApiServer,
} from "../test/support/kubernetes/api-server.ts";
import { addDeployment, kubeImage, writeKubeconfig } from "../test/support/kubernetes/fleet.ts";
import { startProgram } from "../test/support/program/program.ts";
import { countFrom, cpuMsOf } from "./measure.ts";
import { measureRollout } from "./rollout-command.ts";
import { finishBench, reportFigure, reportTable, startBench } from "./run.ts";

const size = countFrom("BENCH_SIZE", 200);
const readyMs = countFrom("BENCH_READY_MS", 2_000);
const atOnce = 100;
/** The aim (docs/measured.md, "Aims"). */
const mostTimes = 1.2;
const names = Array.from({ length: size }, (_, n) => `gw-${n}`);

const agent = new Agent({ connections: 32 });

async function call(url: string, method: "GET" | "PATCH", body?: object) {
  const answer = await request(url, {
    method,
    dispatcher: agent,
    headers: {
      authorization: `Bearer ${adminToken}`,
      "content-type": "application/strategic-merge-patch+json",
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}: ${text}`);
  return JSON.parse(text) as { status?: Record<string, number>; metadata: { generation: number } };
}

/** Sets the image and asks each second, as a script over kubectl does, as many at once as the rollout. */
async function replaceByHand(server: ApiServer, name: string, image: string): Promise<void> {
  const url = `${server.url}/apis/apps/v1/namespaces/edge/deployments/${name}`;
  const containers = [{ name: "gateway", image }];
  await call(url, "PATCH", { spec: { template: { spec: { containers } } } });
  for (;;) {
    const { status = {}, metadata } = await call(url, "GET");
    const isSeen = status["observedGeneration"] === metadata.generation;
    if (isSeen && status["updatedReplicas"] === 1 && status["replicas"] === 1) return;
    await delay(1_000);
  }
}

async function measureByHand(server: ApiServer, image: string): Promise<number> {
  const startedAt = performance.now();
  const limit = pLimit(atOnce);
  await Promise.all(names.map((name) => limit(() => replaceByHand(server, name, image))));
  return performance.now() - startedAt;
}

startBench("kubernetes");
const server = await openApiServer({ observeMs: 100, readyMs });
for (const name of names) addDeployment(server, name);
const kubeconfig = writeKubeconfig(server.url);
const program = await startProgram({
  VEDETTE_FLEET__DRIVER: "kubernetes",
  VEDETTE_ROLLOUT__MAX_PARALLEL: String(atOnce),
  VEDETTE_FLEET__KUBERNETES__STABLE_SECONDS: "0",
  VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "false",
  KUBECONFIG: kubeconfig.path,
});
try {
  const { pid } = program.endpoints();
  const cpuBefore = cpuMsOf(pid);
  const callsBefore = server.requests.length;
  const rolloutMs = await measureRollout(program.dataDir, kubeImage("v2"));
  const calls = (server.requests.length - callsBefore) / size;
  const cpuMs = (cpuMsOf(pid) - cpuBefore) / size;
  const handMs = await measureByHand(server, kubeImage("v3"));
  reportTable(`${size} Deployments, ready after ${readyMs} ms, ${atOnce} at once`, {
    "a rollout by the command": { s: (rolloutMs / 1_000).toFixed(1) },
    "the changes alone": { s: (handMs / 1_000).toFixed(1) },
  });
  reportFigure("seconds of a rollout", rolloutMs / 1_000, { unit: "s" });
  reportFigure("calls of a Deployment", calls);
  reportFigure("CPU of a Deployment", cpuMs, { unit: "ms" });
  reportFigure("a rollout against the changes alone", rolloutMs / handMs, {
    atMost: mostTimes,
    unit: "times",
  });
} finally {
  await program.dispose();
  await agent.close();
  await server.close();
  kubeconfig.remove();
}
finishBench();
