/**
 * Measures how smoothly the console renders a rollout over 10,000 and 50,000 sentinels, in a real browser, and what
 * it sends to a viewer meanwhile. Other sizes: `node bench/console.ts 2000`.
 */
import { type Browser, chromium } from "playwright-core";
import { createReadMoment } from "#app/control.ts";
import { runningDatabaseUrl } from "#embedded/running.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { type Program, startProgram } from "../test/support/program/program.ts";
import { startFakeFleet } from "../test/support/rollout/fake-fleet.ts";
import { median, percentile } from "./measure.ts";
import { finishBench, reportFigure, reportTable, startBench } from "./run.ts";

const given = process.argv.slice(2).map(Number);
const sizes = given.length > 0 ? given : [10_000, 50_000];
const measuredMs = 10_000;
/** One of so many sentinels is deployed at once. */
const fleetShare = 50;
const mostParallel = 500;
/** A rollout of 50,000 takes a quarter of an hour on 2 cores that have other work as well. */
const endsWithinMs = 2_400_000;

/** The aims (docs/measured.md, "Aims"). 17 ms: 60 frames a second. */
const mostFrameMs = 17;
const mostMegabytes = (size: number) => Math.max(1, size / 10_000);

type Sent = { events: number; bytes: number; longest: number };

/** Counts by event what is sent to a viewer, from now until the returned function is called. */
async function countBytes(program: Program): Promise<() => Map<string, Sent>> {
  const { control } = program.endpoints();
  const signedIn = await fetch(`${control}/console/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token: program.token() }),
  });
  const cookie = signedIn.headers.get("set-cookie")?.split(";")[0] ?? "";
  const { body } = await fetch(`${control}/console/api/events`, { headers: { cookie } });
  const sent = new Map<string, Sent>();
  const note = (text: string) => {
    const name = /^event: (\w+)$/m.exec(text)?.[1] ?? "retry";
    const bytes = Buffer.byteLength(text);
    const {
      events,
      bytes: before,
      longest,
    } = sent.get(name) ?? { events: 0, bytes: 0, longest: 0 };
    const now = { events: events + 1, bytes: before + bytes, longest: Math.max(longest, bytes) };
    sent.set(name, now);
  };
  const read = async () => {
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of body ?? []) {
      const pieces = (text + decoder.decode(chunk as Uint8Array, { stream: true })).split("\n\n");
      text = pieces.pop() ?? "";
      for (const piece of pieces) note(`${piece}\n\n`);
    }
  };
  // It ends with the program.
  void read().catch(() => {});
  return () => sent;
}

/** Measures the times between the frames of the page, in ms, for this long. */
const frames = `new Promise((resolve) => {
  const times = [];
  const begun = performance.now();
  let last = begun;
  requestAnimationFrame(function next(now) {
    times.push(now - last);
    last = now;
    if (now - begun > ${measuredMs}) resolve(times.slice(1));
    else requestAnimationFrame(next);
  });
})`;

function toRow(times: readonly number[]) {
  const at = (p: number) => percentile(times, p).toFixed(1);
  return { frames: times.length, "p50 ms": at(50), "p95 ms": at(95), "p99 ms": at(99) };
}

const reads = 10;

/** Reads what each poll of a fleet with viewers reads, whatever has changed: the rollout and all sentinels. */
async function readAll(program: Program, size: number): Promise<void> {
  const log = createLog({ level: "silent", format: "json" });
  const database = openDatabase(runningDatabaseUrl(program.dataDir), log);
  try {
    const { body } = await program.call("Status");
    const rolloutId = String(body["rollout_id"]);
    const readMoment = createReadMoment(database);
    const times: number[] = [];
    const cpu = process.cpuUsage();
    for (let n = 0; n < reads; n += 1) {
      const begunMs = performance.now();
      await readMoment({ rolloutId });
      times.push(performance.now() - begunMs);
    }
    const { user, system } = process.cpuUsage(cpu);
    const cpuMs = (user + system) / reads / 1_000;
    reportFigure(`one read of all ${size} sentinels`, median(times), { unit: "ms" });
    reportFigure(`CPU of one read of all ${size} sentinels`, cpuMs, { unit: "ms" });
  } finally {
    await database.end();
  }
}

async function measure(program: Program, browser: Browser, size: number): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 1600 } });
  page.setDefaultTimeout(120_000);
  await page.goto(`${program.endpoints().control}/console`);
  await page.getByLabel("Token").fill(program.token());
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 2, name: "Fleet" }).waitFor();
  const sent = await countBytes(program);
  const still = (await page.evaluate(frames)) as number[];
  const startedMs = Date.now();
  const image = "registry.example.com/vedette/sentinel:v2";
  await program.call("Rollout/send", { image, wave_percentages: [5, 100] });
  await page.getByRole("heading", { level: 1, name: /In progress: wave 2/ }).waitFor();
  const moving = (await page.evaluate(frames)) as number[];
  const completed = page.getByRole("heading", { level: 1, name: /Completed/ });
  await completed.waitFor({ timeout: endsWithinMs });
  const seconds = Math.round((Date.now() - startedMs) / 1_000);
  const all = sent()
    .values()
    .reduce((sum, { bytes }) => sum + bytes, 0);
  const rows = { still: toRow(still), moving: toRow(moving) };
  reportTable(`Frames of ${size} sentinels, ${measuredMs / 1_000} s each`, rows);
  const title = `Bytes to a viewer of a rollout of ${size} sentinels, which took ${seconds} s`;
  reportTable(title, Object.fromEntries(sent()));
  await page.close();
  const what = `of ${size} sentinels`;
  const frameAim = { atMost: mostFrameMs, unit: "ms" };
  reportFigure(`between moving frames ${what}, p95`, percentile(moving, 95), frameAim);
  reportFigure(`to a viewer ${what}`, all / 1e6, { atMost: mostMegabytes(size), unit: "MB" });
}

startBench("console");
const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
try {
  for (const size of sizes) {
    const fleet = await startFakeFleet({ size, behave: () => ({ readyAfterMs: 300 }) });
    const program = await startProgram({
      ...fleet.environment(),
      VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "false",
      VEDETTE_ROLLOUT__MAX_PARALLEL: String(Math.min(mostParallel, size / fleetShare)),
    });
    try {
      await measure(program, browser, size);
      await readAll(program, size);
    } finally {
      await program.dispose();
      await fleet.stop();
    }
  }
} finally {
  await browser.close();
}
finishBench();
