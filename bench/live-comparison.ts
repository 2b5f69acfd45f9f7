/**
 * 200 reference sentinels under load, compared while an image is rolled out: one with 1 % more errors has to be
 * stopped, and an outage that hits both sides must not stop a good one. Takes two hours, of which one is before the
 * first rollout. BENCH_SENTINELS, BENCH_REQUESTS: of each sentinel in a minute, BENCH_BASE: minutes before.
 */
import { readFileSync } from "node:fs";
import { createServer, Agent as HttpAgent, request } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Credentials } from "#embedded/contract.ts";
import { FleetList } from "#fleet/contract.ts";
import { RolloutStatus } from "#rollout/contract.ts";
import { type Program, startProgram } from "../test/support/program/program.ts";
import { withStops } from "./clean-up.ts";
import { countFrom } from "./measure.ts";
import { finishBench, reportFigure, reportTable, startBench } from "./run.ts";

const size = countFrom("BENCH_SENTINELS", 200);
const perMinute = countFrom("BENCH_REQUESTS", 60);
const baseMinutes = countFrom("BENCH_BASE", 62);
const firstPort = 21_000;
const minuteMs = 60_000;
const listEveryMs = 1_000;
const askEveryMs = 2_000;

const [good, worse, better] = ["v1", "v2-worse", "v3"].map((tag) => `example.com/sentinel:${tag}`);
const usualErrors = 0.001;
const addedErrors = 0.01;
const outageErrors = 0.2;
const outageMinutes = 5;
const gate = { kind: "compare", name: "compare", minutes: 10, when_inconclusive: "continue" };

/** The service behind the sentinels: it fails more often for one that runs the worse image, or for all. */
function createUpstream() {
  const scene = { isOutage: false, images: new Map<string, string>(), served: 0, failed: 0 };
  const server = createServer((incoming, outgoing) => {
    const sentinel = /^1\.1 (\S+)/.exec(incoming.headers.via ?? "")?.[1] ?? "";
    const added = scene.images.get(sentinel) === worse ? addedErrors : 0;
    const share = scene.isOutage ? outageErrors : usualErrors + added;
    const isFailed = Math.random() < share;
    scene.served += 1;
    if (isFailed) scene.failed += 1;
    outgoing.writeHead(isFailed ? 500 : 200).end("answer");
  });
  server.keepAliveTimeout = 5 * minuteMs;
  return { scene, server };
}

async function createKey(program: Program): Promise<string> {
  const file = path.join(program.dataDir, "credentials.json");
  const { root_key } = Credentials.parse(JSON.parse(readFileSync(file, "utf8")));
  const call = async (procedure: string, body: unknown) => {
    const answer = await fetch(`${program.endpoints().api}/v2/${procedure}`, {
      method: "POST",
      headers: { authorization: `Bearer ${root_key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return ((await answer.json()) as { data: { apiId: string; key: string } }).data;
  };
  const { apiId } = await call("apis.createApi", { name: "bench" });
  return (await call("keys.createKey", { apiId })).key;
}

/** Asks each sentinel by the clock, each at its own moment of the second. Returns what was answered with which status. */
function startLoad(key: string, signal: AbortSignal) {
  const answers: Record<string, number> = {};
  const agent = new HttpAgent({ keepAlive: true });
  const count = (status: string) => {
    answers[status] = (answers[status] ?? 0) + 1;
  };
  const ask = (port: number) => {
    const headers = { authorization: `Bearer ${key}` };
    request({ host: "127.0.0.1", port, agent, headers }, (incoming) => {
      count(String(incoming.statusCode));
      incoming.resume();
    })
      .on("error", ({ message }) => count(message))
      .end();
  };
  for (let i = 0; i < size; i += 1) {
    const everyMs = minuteMs / perMinute;
    const start = () => {
      const timer = setInterval(() => ask(firstPort + i), everyMs);
      signal.addEventListener("abort", () => clearInterval(timer));
    };
    setTimeout(start, (i / size) * everyMs);
  }
  return answers;
}

async function readImages(program: Program, images: Map<string, string>): Promise<void> {
  const { body } = await program.post("vedette.v1.FleetService/List", { limit: 1_000 });
  for (const one of FleetList.parse(body).sentinels) images.set(one.id, one.running_image);
}

const readStatus = async (program: Program) =>
  RolloutStatus.parse((await program.call("Status")).body);

async function untilDone(program: Program, onStatus: (status: RolloutStatus) => void = () => {}) {
  let words = "";
  for (;;) {
    const status = await readStatus(program);
    onStatus(status);
    const now = `${status.state}, wave ${status.current_wave} of ${status.total_waves}, ${status.waiting_for}, ${status.reason ?? ""}`;
    if (now !== words) console.log(new Date().toISOString(), now);
    words = now;
    if (status.state === "paused" || (status.outcome != null && status.in_flight === 0))
      return status;
    await delay(askEveryMs);
  }
}

async function start(program: Program, image: string, wave_percentages: number[], gates: unknown) {
  const { status, body } = await program.call("Rollout/send", { image, wave_percentages, gates });
  if (status !== 202) throw new Error(`not started: ${JSON.stringify(body)}`);
  const isCurrent = async () => (await readStatus(program)).image === image;
  while (!(await isCurrent())) await delay(askEveryMs);
}

startBench("live-comparison");
await withStops(async (stops) => {
  const { scene, server } = createUpstream();
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  stops.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  const program = await startProgram({
    VEDETTE_FLEET__PROCESS__SIZE: String(size),
    VEDETTE_FLEET__PROCESS__BASE_PORT: String(firstPort),
    VEDETTE_FLEET__PROCESS__UPSTREAM_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
  stops.push(program.dispose);
  const ended = new AbortController();
  stops.push(() => ended.abort());
  await start(program, good as string, [100], []);
  await untilDone(program);
  const answers = startLoad(await createKey(program), ended.signal);
  const list = setInterval(() => {
    if (!ended.signal.aborted) readImages(program, scene.images).catch(() => {});
  }, listEveryMs);
  stops.push(() => clearInterval(list));
  await delay(baseMinutes * minuteMs);

  await start(program, worse as string, [1, 10, 50, 100], [gate]);
  const stopped = await untilDone(program);
  const evidence = JSON.stringify(stopped.gate ?? stopped.standing);
  await program.call("RollbackAll/send", { include_failed: true });
  while ((await readStatus(program)).state === "paused") await delay(askEveryMs);
  await untilDone(program);

  let outageFromMs = 0;
  await start(program, better as string, [10, 100], [gate]);
  const passed = await untilDone(program, ({ waiting_for }) => {
    if (waiting_for === "gate" && outageFromMs === 0) outageFromMs = Date.now() + 4 * minuteMs;
    const nowMs = Date.now();
    scene.isOutage =
      outageFromMs > 0 && nowMs > outageFromMs && nowMs < outageFromMs + outageMinutes * minuteMs;
  });

  const isStopped = stopped.state === "paused" && stopped.cause === "comparison";
  if (!isStopped) throw new Error(`not stopped: ${evidence}`);
  reportFigure("the wave in which it stopped", stopped.current_wave, { atMost: 3, unit: "" });
  reportFigure("sentinels with the image of 1 % more errors when it stopped", stopped.succeeded);
  reportFigure("sentinels that took a good image through an outage", passed.succeeded, {
    ...{ atLeast: size, unit: "" },
  });
  reportTable("Answers of the sentinels, by status", { answers });
  console.log(evidence);
});
finishBench();
