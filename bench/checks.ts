/**
 * The cost of API checks: processor time of all processes, Postgres and Restate included, for 1,000 checks by HTTP of a
 * server that answers at once, every 10 s; beside Prometheus with the blackbox exporter (Debian's, `apt-get install
 * prometheus prometheus-blackbox-exporter`), which probes as often and evaluates an alert of each, and beside the same
 * program of another checkout, in turns.
 * BENCH_CHECKS, BENCH_SECONDS, BENCH_ROUNDS; BENCH_BESIDE: the folder of the other checkout.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../test/support/free-port.ts";
import { startProgram } from "../test/support/program/program.ts";
import { makeTempDir } from "../test/support/temp-dir.ts";
import { withStops } from "./clean-up.ts";
import { countFrom, cpuMsOf, median } from "./measure.ts";
import { createCpu } from "./ping-program.ts";
import { finishBench, reportFigure, reportTable, startBench } from "./run.ts";

const everySeconds = 10;
const count = countFrom("BENCH_CHECKS", 1_000);
const seconds = countFrom("BENCH_SECONDS", 60);
const rounds = countFrom("BENCH_ROUNDS", 3);
const beside = process.env["BENCH_BESIDE"];

/** The aims (docs/measured.md, "Aims"). */
const mostOfOther = 0.25;
const mostOfPrometheus = 4;

/** Until the code is compiled and every check has run a few times. */
const settleMs = 4 * everySeconds * 1_000;

const ids = Array.from({ length: count }, (_, i) => `check-${i}`);

type Stops = (() => unknown)[];

/** Up to now, in ms, by process. */
type Cpu = () => Record<string, number>;
type Start = (targetUrl: string, stops: Stops) => Promise<Cpu>;

function startVedette(folder: string): Start {
  return async (targetUrl, stops) => {
    const directory = makeTempDir();
    stops.push(directory.remove);
    const file = path.join(directory.path, "vedette.config.json");
    const checks = ids.map((id) => ({ id, path: `/${id}`, frequencySeconds: everySeconds }));
    writeFileSync(file, JSON.stringify({ checks }));
    const program = await startProgram(
      { VEDETTE_DEFINITIONS__FILE: file, VEDETTE_MONITOR__BASE_URL: targetUrl },
      path.join(folder, "src/main.ts"),
    );
    stops.push(program.dispose);
    return createCpu(program);
  };
}

const startPrometheus: Start = async (targetUrl, stops) => {
  const directory = makeTempDir();
  stops.push(directory.remove);
  const write = (name: string, content: object) => {
    const file = path.join(directory.path, name);
    // YAML reads JSON.
    writeFileSync(file, JSON.stringify(content));
    return file;
  };
  const [exporterPort, port] = [await freePort(), await freePort()];
  const modules = { http_2xx: { prober: "http", timeout: "5s" } };
  const exporter = startServer(stops, exporterProgram, [
    `--config.file=${write("blackbox.yml", { modules })}`,
    `--web.listen-address=127.0.0.1:${exporterPort}`,
    "--log.level=error",
  ]);
  const settings = settingsOf(targetUrl, `127.0.0.1:${exporterPort}`);
  const prometheus = startServer(stops, prometheusProgram, [
    `--config.file=${write("prometheus.yml", { ...settings, rule_files: [write("rules.yml", rules)] })}`,
    `--storage.tsdb.path=${path.join(directory.path, "data")}`,
    `--web.listen-address=127.0.0.1:${port}`,
    "--log.level=error",
  ]);
  return () => ({ Prometheus: cpuMsOf(prometheus), "blackbox exporter": cpuMsOf(exporter) });
};

const prometheusProgram = "/usr/bin/prometheus";
const exporterProgram = "/usr/bin/prometheus-blackbox-exporter";

const rules = {
  groups: [{ name: "checks", rules: [{ alert: "CheckFailed", expr: "probe_success == 0" }] }],
};

function settingsOf(targetUrl: string, exporter: string) {
  const every = `${everySeconds}s`;
  const probes = {
    job_name: "checks",
    metrics_path: "/probe",
    params: { module: ["http_2xx"] },
    static_configs: [{ targets: ids.map((id) => `${targetUrl}/${id}`) }],
    relabel_configs: [
      { source_labels: ["__address__"], target_label: "__param_target" },
      { source_labels: ["__param_target"], target_label: "instance" },
      { target_label: "__address__", replacement: exporter },
    ],
  };
  return {
    global: { scrape_interval: every, evaluation_interval: every },
    scrape_configs: [probes],
  };
}

/** Returns the process id. */
function startServer(stops: Stops, program: string, flags: readonly string[]): number {
  const child = spawn(program, flags, { stdio: ["ignore", "ignore", "inherit"] });
  stops.push(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  return child.pid ?? 0;
}

/** Answers at once, and counts. It is a part of this process, whose time is nobody's. */
async function startTarget(stops: Stops) {
  const state = { requests: 0 };
  const server = createServer((_, answer) => {
    state.requests += 1;
    answer.writeHead(200).end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stops.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

type Measured = { system: string; runs: number; "a check, CPU ms": number } & Record<
  string,
  string | number
>;

/** Measures a system from its start to its end. Throws if it makes fewer runs than are due. */
async function measure(system: string, start: Start): Promise<Measured> {
  let measured: Measured | undefined;
  await withStops(async (stops) => {
    const target = await startTarget(stops);
    const cpu = await start(target.url, stops);
    await delay(settleMs);
    const [before, earlier] = [cpu(), target.state.requests];
    await delay(seconds * 1_000);
    const [after, runs] = [cpu(), target.state.requests - earlier];
    const due = (count * seconds) / everySeconds;
    if (runs < due * 0.95) throw new Error(`${system} made ${runs} runs of ${due}`);
    const costs = Object.entries(after).map(([part, ms]): [string, number] => {
      return [part, round((ms - (before[part] ?? 0)) / runs)];
    });
    const all = costs.reduce((sum, [, ms]) => sum + ms, 0);
    const parts = costs.map(([part, ms]) => `${part} ${ms}`).join(", ");
    measured = { system, runs, "a check, CPU ms": round(all), "of which": parts };
  });
  if (measured === undefined) throw new Error(`${system} was not measured`);
  return measured;
}

const round = (ms: number) => Number(ms.toFixed(3));

const own = "this program";
const other = "the other checkout";
const prometheus = "Prometheus with the blackbox exporter";

startBench("checks");
const systems: Record<string, Start> = {
  [own]: startVedette(path.join(import.meta.dirname, "..")),
};
if (beside !== undefined) systems[other] = startVedette(path.resolve(beside));
if ([prometheusProgram, exporterProgram].every(existsSync)) systems[prometheus] = startPrometheus;
const found: Measured[] = [];
for (let i = 0; i < rounds; i += 1) {
  for (const [system, start] of Object.entries(systems)) found.push(await measure(system, start));
}
reportTable(`${count} checks every ${everySeconds} s, over ${seconds} s`, found);
const costOf = (wanted: string) => {
  const costs = found.filter(({ system }) => system === wanted);
  return costs.length === 0 ? undefined : median(costs.map((one) => one["a check, CPU ms"]));
};
const [ms, otherMs, prometheusMs] = [own, other, prometheus].map(costOf);
const ratioTo = (peer: number | undefined) => (ms === undefined || !peer ? undefined : ms / peer);
reportFigure("a check, CPU of all processes", ms, { unit: "ms" });
reportFigure("a check of Prometheus with the blackbox exporter", prometheusMs, { unit: "ms" });
reportFigure("a check of the other checkout", otherMs, { unit: "ms" });
reportFigure("a check against the other checkout", ratioTo(otherMs), { atMost: mostOfOther });
reportFigure("a check against Prometheus with the blackbox exporter", ratioTo(prometheusMs), {
  atMost: mostOfPrometheus,
});
finishBench();
