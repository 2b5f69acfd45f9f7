/**
 * The cost of traces, in turns with and without: of a verification, and of a sentinel whose deploy takes no time, by the
 * clock and by the CPU time of worker, Restate and Postgres. BENCH_SIZE: sentinels of a rollout; BENCH_ROUNDS: of each.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { createLog } from "#kernel/log.ts";
import { exportTraces } from "#kernel/trace-exporter.ts";
import { askedToVerify, insertKeys, withApi } from "./api-fixture.ts";
import { compare } from "./compare.ts";
import { callRollout, checkFleet, type Servers, withServers } from "./fixture.ts";
import { startHttpFleet } from "./http-fleet.ts";
import { countFrom, cpuMsOf, median } from "./measure.ts";
import { finishBench, reportFigure, startBench } from "./run.ts";

/** Most that traces may add. */
const mostShare = 1.05;
const keyCount = 1_000;
const size = countFrom("BENCH_SIZE", 2_000);
const rounds = countFrom("BENCH_ROUNDS", 15);

/** A receiver in a process of its own, which accepts all. */
async function startReceiver() {
  const program = `require("node:http").createServer((q, a) => q.resume().on("end", () => a.end("{}")))
    .listen(0, "127.0.0.1", function () { console.log(this.address().port); });`;
  const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  const [port] = await once(child.stdout, "data");
  return { url: `http://127.0.0.1:${Number(port)}`, stop: () => child.kill() };
}

type Cost = { ms: number; cpuMs: number };
type RollOut = { fleet: Awaited<ReturnType<typeof startHttpFleet>>; servers: Servers };

/** Longer than spans wait until they are sent. */
const settleMs = 1_500;

function cpuMs({ restatePid, postgresPid }: Servers): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000 + cpuMsOf(restatePid()) + cpuMsOf(postgresPid());
}

/** Ms of a sentinel, and of CPU with what follows. */
async function rollOut({ fleet, servers }: RollOut): Promise<Cost> {
  await fleet.sizeTo(size);
  const image = fleet.image();
  const beforeMs = cpuMs(servers);
  const startMs = performance.now();
  await callRollout({ url: servers.ingressUrl, handler: "Rollout", body: { image } });
  const tookMs = performance.now() - startMs;
  await checkFleet(servers.database, image, size);
  await delay(settleMs);
  return { ms: tookMs / size, cpuMs: (cpuMs(servers) - beforeMs) / size };
}

startBench("traces");
const receiver = await startReceiver();
await withApi(async ({ database, serve }) => {
  await insertKeys(database, keyCount);
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
  const { off, on } = await compare({
    off: askedToVerify(await serve("api"), keyCount),
    on: askedToVerify(await serve("api", { environment }), keyCount),
  });
  reportFigure("CPU of a verification with traces", on.cpuMicros, { unit: "µs" });
  const share = on.cpuMicros / off.cpuMicros;
  reportFigure("CPU of a verification with traces against one without", share, {
    atMost: mostShare,
    unit: "times",
  });
});
process.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = receiver.url;
const fleet = await startHttpFleet({ tells: true });
await withServers({ fleet }, async (servers) => {
  await rollOut({ fleet, servers });
  const costs: Record<"on" | "off", Cost[]> = { on: [], off: [] };
  const runs = {
    off: async () => costs.off.push(await rollOut({ fleet, servers })),
    on: async () => {
      const stop = exportTraces(process.env, createLog({ level: "silent", format: "json" }));
      costs.on.push(await rollOut({ fleet, servers }));
      await stop();
    },
  };
  for (let round = 0; round < rounds; round++) {
    const order = ["off", "on"] as const;
    for (const run of round % 2 === 0 ? order : order.toReversed()) await runs[run]();
  }
  for (const [name, of] of Object.entries({ "a sentinel": "ms", "CPU of a sentinel": "cpuMs" })) {
    const [on, off] = [costs.on, costs.off].map((all) =>
      median(all.map((cost) => cost[of as keyof Cost])),
    );
    reportFigure(`${name} with traces`, on, { unit: "ms" });
    const share = (on ?? Number.NaN) / (off ?? Number.NaN);
    reportFigure(`${name} with traces against one without`, share, {
      atMost: mostShare,
      unit: "times",
    });
  }
});
receiver.stop();
finishBench();
process.exit();
