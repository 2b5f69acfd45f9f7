/**
 * Measures the console with many monitors, in a real browser and the whole program: until the list is shown, until a
 * muted check shows as muted, and what an open page is sent. Other sizes of each kind: `node bench/monitors.ts 200`.
 */

import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { chromium, type Page } from "playwright-core";
import { runningDatabaseUrl } from "#embedded/running.ts";
import { type Database, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { aHeartbeatRow } from "../test/support/monitor/check-rows.ts";
import { type Program, startProgram } from "../test/support/program/program.ts";
import { makeTempDir } from "../test/support/temp-dir.ts";
import { waitFor } from "../test/support/wait-for.ts";
import { withStops } from "./clean-up.ts";
import { median } from "./measure.ts";
import { finishBench, reportFigure, reportTable, startBench } from "./run.ts";

const count = Number(process.argv[2] ?? 2_000);
const shown = Math.min(count, 50) * 2;
const rounds = 9;
const watchedMs = 60_000;
/** Until the first rollups are made. */
const settledMs = 60_000;
/** Longer than any answer is kept. */
const forgottenMs = 3_000;

/** The aims (docs/measured.md, "Aims"). */
const mostListMs = 300;
const mostMuteMs = 200;
const mostMegabytesAnHour = 1;

const ids = (prefix: string) => Array.from({ length: count }, (_, i) => `${prefix}-${i}`);

async function startTarget(stops: (() => unknown)[]): Promise<string> {
  const server = createServer((_request, response) => response.end("ok"));
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stops.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function writeDefinitions(directory: string, url: string): string {
  const file = path.join(directory, "vedette.config.json");
  const checks = ids("check").map((id) => ({ id, url, frequencySeconds: 60 }));
  const rule = { periodSeconds: 86_400, graceSeconds: 3_600 };
  const heartbeats = ids("beat").map((id) => ({ id, ...rule }));
  writeFileSync(file, JSON.stringify({ checks, heartbeats }));
  return file;
}

/** All heartbeats are well, all checks have run, and each check has a day of results. */
async function fill(database: Database): Promise<void> {
  const nowMs = Date.now();
  const row = aHeartbeatRow({ createdAtMs: nowMs, sinceMs: nowMs, lastPingAtMs: nowMs });
  await database.query(
    `INSERT INTO check_states (id, kind, row, wake_at)
     SELECT id, 'heartbeat', $2::jsonb, now() + interval '25 h' FROM unnest($1::text[]) AS id
     ON CONFLICT (id) DO UPDATE SET row = excluded.row, wake_at = excluded.wake_at`,
    [ids("beat"), JSON.stringify(row)],
  );
  await database.query(
    `INSERT INTO heartbeats (id, token_hash, registered_by, last_ping_at, is_watched)
     SELECT id, sha256(id::bytea), 'bench', now(), false FROM unnest($1::text[]) AS id`,
    [ids("beat")],
  );
  for (let first = 0; first < count; first += batch) {
    const some = ids("check").slice(first, first + batch);
    await database.query(insertRollups, [some, 60, 1]);
    await database.query(insertRollups, [some, 900, 15]);
  }
  await database.query(
    `INSERT INTO check_rollup_marks SELECT seconds, date_bin('15 min', now(), 'epoch') FROM unnest(array[60, 900]) AS seconds
     ON CONFLICT (bucket_seconds) DO UPDATE SET done_until = excluded.done_until`,
  );
  await database.query("ANALYZE");
  const ran = "SELECT count(*)::int AS n FROM check_states WHERE row->'state'->>'status' = 'ok'";
  await waitFor(async () => (await database.query(ran)).rows[0].n >= 2 * count, {
    withinMs: 300_000,
    what: "all checks to have run",
  });
  await delay(settledMs);
}

/** So many checks by one statement, which has a time limit. */
const batch = 100;

const insertRollups = `
  INSERT INTO check_rollups (check_id, bucket_seconds, location, starts_at, results, ok, degraded, failed, runs,
    failed_runs, p50_ms, p95_ms, p99_ms, max_ms)
  SELECT id, $2::integer, '', at, $3::integer, $3, 0, 0, $3, 0, 10, 20, 30, 40 FROM unnest($1::text[]) AS id,
    generate_series(date_bin('15 min', now(), 'epoch') - interval '24 h',
      date_bin('15 min', now(), 'epoch') - interval '1 s', make_interval(secs => $2)) AS at
  ON CONFLICT DO NOTHING`;

async function signIn(page: Page, program: Program): Promise<void> {
  await page.goto(`${program.endpoints().control}/console`);
  await page.getByLabel("Token").fill(program.token());
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
}

/** Clicks what `click` finds, and answers the ms until the frame after `isShown`; both are expressions of the page. */
function timeClick(page: Page, click: string, isShown: string): Promise<number> {
  return page.evaluate(`new Promise((resolve) => {
    const begun = performance.now();
    (${click}).click();
    requestAnimationFrame(function next() {
      if (!(${isShown})) return requestAnimationFrame(next);
      requestAnimationFrame(() => resolve(performance.now() - begun));
    });
  })`);
}

const button = (words: string) =>
  `[...document.querySelectorAll("button")].find((one) => one.textContent === ${JSON.stringify(words)})`;
const has = (words: string) => `document.body.textContent.includes(${JSON.stringify(words)})`;

async function measureList(page: Page): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < rounds; i += 1) {
    await page.getByRole("link", { name: "Keys", exact: true }).click();
    await delay(forgottenMs);
    const link = `document.querySelector('nav a[href$="/checks"]')`;
    times.push(
      await timeClick(page, link, `document.querySelectorAll("li.check").length === ${shown}`),
    );
  }
  return times;
}

async function measureMute(page: Page, program: Program): Promise<number[]> {
  const times: number[] = [];
  await page.goto(`${program.endpoints().control}/console/checks/check-7`);
  for (let i = 0; i < rounds; i += 1) {
    await page.getByRole("button", { name: "Mute…", exact: true }).click();
    await page.getByRole("button", { name: "Mute for 2 hours" }).waitFor();
    times.push(await timeClick(page, button("Mute for 2 hours"), has("Quiet until")));
    await page.getByRole("button", { name: "Unmute…" }).click();
    await page.getByRole("button", { name: "Unmute", exact: true }).click();
    await page.getByRole("button", { name: "Mute…", exact: true }).waitFor();
  }
  return times;
}

type Sent = { answers: number; bytes: number };

/** The bytes of an open list, with the heads of the answers, by what is asked. */
async function measureBytes(page: Page, program: Program): Promise<Map<string, Sent>> {
  const sent = new Map<string, Sent>();
  const names = new Map<string, string>();
  const of = (id: string) => {
    const name = names.get(id) ?? "other";
    const found = sent.get(name) ?? { answers: 0, bytes: 0 };
    sent.set(name, found);
    return found;
  };
  const cdp = await page.context().newCDPSession(page);
  cdp.on("Network.requestWillBeSent", ({ requestId, request }) => {
    names.set(requestId, new URL(request.url).pathname.replace("/console/api/", ""));
  });
  cdp.on("Network.responseReceivedExtraInfo", ({ requestId, headersText = "" }) => {
    of(requestId).answers += 1;
    of(requestId).bytes += headersText.length;
  });
  cdp.on("Network.dataReceived", ({ requestId, dataLength }) => {
    of(requestId).bytes += dataLength;
  });
  await cdp.send("Network.enable");
  await page.goto(`${program.endpoints().control}/console/checks`);
  await page
    .getByText(`50 of ${count.toLocaleString("en-US")}`)
    .first()
    .waitFor();
  await delay(forgottenMs);
  reportTable("Bytes of opening the list", Object.fromEntries(sent));
  sent.clear();
  await delay(watchedMs);
  return sent;
}

async function measure(stops: (() => unknown)[]): Promise<void> {
  const directory = makeTempDir();
  stops.push(directory.remove);
  const url = await startTarget(stops);
  const program = await startProgram({
    VEDETTE_DEFINITIONS__FILE: writeDefinitions(directory.path, url),
  });
  stops.push(program.dispose);
  const log = createLog({ level: "silent", format: "json" });
  const database = openDatabase(runningDatabaseUrl(program.dataDir), log);
  stops.push(() => database.end());
  await fill(database);
  const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  stops.push(() => browser.close());
  const page = await browser.newPage({ locale: "en-US", viewport: { width: 1280, height: 1600 } });
  await signIn(page, program);
  const lists = await measureList(page);
  const mutes = await measureMute(page, program);
  const sent = await measureBytes(page, program);
  const bytes = (of: Iterable<Sent>) => [...of].reduce((sum, one) => sum + one.bytes, 0);
  const anHour = (some: number) => (some * 3_600_000) / watchedMs / 1e6;
  reportTable(`Times with ${count} checks and ${count} heartbeats, ms`, [
    { what: "list", ...Object.fromEntries(lists.map((ms, i) => [i + 1, Math.round(ms)])) },
    { what: "mute", ...Object.fromEntries(mutes.map((ms, i) => [i + 1, Math.round(ms)])) },
  ]);
  reportTable(`Bytes of an open list in ${watchedMs / 1_000} s`, Object.fromEntries(sent));
  const ms = "ms";
  reportFigure("the list is shown after", median(lists), {
    atMost: mostListMs,
    unit: ms,
  });
  reportFigure("a muted one shows after", median(mutes), {
    atMost: mostMuteMs,
    unit: ms,
  });
  const stream = sent.get("events") ?? { bytes: 0 };
  const unit = "MB";
  reportFigure("the stream, in an hour", anHour(stream.bytes), { unit });
  reportFigure("an open list is sent in an hour", anHour(bytes(sent.values())), {
    atMost: mostMegabytesAnHour,
    unit,
  });
}

startBench("monitors");
await withStops(measure);
finishBench();
