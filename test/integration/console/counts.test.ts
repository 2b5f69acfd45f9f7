/** Every number of a rollout's page, of History, of the command line and of the tables, compared with each other. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Database, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { pinsName } from "#rollout/choice/contract.ts";
import { RolloutStatus } from "#rollout/contract.ts";
import { createRandom } from "../../support/alerts/alert-episodes.ts";
import { runVedette } from "../../support/program/command.ts";
import { type ConsoleProgram, startConsoleProgram } from "../../support/program/console-browser.ts";
import {
  findDisagreements,
  type PageNumbers,
  readNumbers,
  type Texts,
  textsOfPage,
} from "../../support/program/page-numbers.ts";
import type { FleetOutcome } from "../../support/rollout/fake-fleet.ts";
import { createTestDatabase } from "../../support/run/shared-postgres.ts";
import { hasBrowser } from "../../support/servers/browser.ts";
import { waitFor } from "../../support/wait-for.ts";

const size = 100;
const seeds = (process.env["SEEDS"] ?? "7,21,42").split(",").map(Number);

let console: ConsoleProgram;
let database: Database;
let stopServer: () => Promise<void>;

beforeAll(async () => {
  if (!hasBrowser) return;
  const server = await createTestDatabase();
  stopServer = server.stop;
  database = openDatabase(server.url, createLog({ level: "silent", format: "json" }));
  const environment = { DATABASE_URL: server.url, VEDETTE_ROLLOUT__MAX_PARALLEL: "8" };
  console = await startConsoleProgram({ size }, environment);
});

afterAll(async () => {
  await console?.stop();
  await database?.end();
  await stopServer?.();
});

const status = async () => RolloutStatus.parse((await console.program.call("Status")).body);

/** Deploys of random length, of which some fail; a failure often repeats. */
function behaveAtRandom(random: () => number): (id: string, image: string) => FleetOutcome {
  return () => {
    const afterMs = Math.floor(random() * 900);
    if (random() > 0.12) return { readyAfterMs: afterMs };
    const reason = random() < 0.5 ? "image_pull_failed: no such tag" : "oom_killed";
    return { failAfterMs: afterMs, reason };
  };
}

type Step = [handler: string, body?: Record<string, unknown>];

/** What an operator may do with a rollout in this state; mostly so that it goes on. */
function nextStep(state: string, random: () => number): Step | undefined {
  const chance = random();
  if (state === "in_progress") return chance < 0.04 ? ["Pause"] : undefined;
  if (state !== "paused") return undefined;
  if (chance < 0.35) return ["Resume/send"];
  if (chance < 0.7) return ["Resume/send", { retry_failed: true }];
  if (chance < 0.8) return ["RollbackAll/send"];
  return chance < 0.92 ? ["RollbackAll/send", { include_failed: true }] : ["Cancel"];
}

/** Plays one rollout to its end; returns when nothing moves any more. */
async function play(random: () => number): Promise<RolloutStatus> {
  const { program } = console;
  const image = `registry.example.com/vedette/sentinel:r${Math.floor(random() * 1e9)}`;
  const before = (await status()).rollout_id;
  const request = {
    image,
    wave_percentages: [10, 40, 100],
    max_failed: { in_all: Math.floor(random() * 4) },
  };
  expect((await program.call("Rollout/send", request)).status).toBe(202);
  return waitFor(
    async () => {
      const now = await status();
      if (now.rollout_id === before) return undefined;
      const step = nextStep(now.state, random);
      if (step !== undefined) await program.call(...step);
      return now.outcome != null && now.in_flight === 0 && now;
    },
    { withinMs: 60_000, what: "the end of the rollout" },
  );
}

/** Reads the numbers of the page again and again in the page itself, and keeps every picture that is another one. */
const watch = `{
  const read = ${textsOfPage};
  globalThis.pictures = [];
  let last = "";
  setInterval(() => {
    const now = JSON.stringify(read());
    if (now !== last) globalThis.pictures.push(JSON.parse(now));
    last = now;
  }, 15);
}`;

async function picturesOf(page: Page): Promise<Texts[]> {
  return (await page.evaluate("globalThis.pictures")) as Texts[];
}

/** Plays rollouts, of which some end early, until the page was seen often enough while sentinels moved. */
async function playUntilSeen(page: Page, random: () => number): Promise<RolloutStatus> {
  const end = await play(random);
  const pictures = await picturesOf(page);
  const moving = pictures.filter(({ legend }) => (legend["Deploying"] ?? 0) > 0);
  return moving.length > 3 ? end : playUntilSeen(page, random);
}

/** What the tables say of the members of a rollout. */
async function countRows(rolloutId: string) {
  const { rows } = await database.query(
    `SELECT (count(*) FILTER (WHERE wave > 0))::int AS total,
       (count(*) FILTER (WHERE outcome IN ('succeeded', 'not_reverted')))::int AS succeeded,
       (count(*) FILTER (WHERE outcome = 'failed'))::int AS failed,
       (count(*) FILTER (WHERE outcome = 'reverted'))::int AS reverted,
       (count(*) FILTER (WHERE outcome = 'reverted' AND failure IS NOT NULL))::int AS failed_before,
       (count(*) FILTER (WHERE outcome = 'left_out'))::int AS left_out
     FROM rollout_sentinels WHERE rollout_id = $1`,
    [rolloutId],
  );
  return rows[0] as Record<
    "total" | "succeeded" | "failed" | "reverted" | "failed_before" | "left_out",
    number
  >;
}

/** The same once they have the rollout's last results, which are recorded a moment later. */
function untilRecorded({ rollout_id, succeeded, failed, total }: RolloutStatus) {
  return waitFor(
    async () => {
      const rows = await countRows(rollout_id ?? "");
      const isWhole =
        rows.succeeded === succeeded && rows.failed === failed && rows.total === total;
      return isWhole && rows;
    },
    { withinMs: 10_000, what: "the tables to have what the rollout counts" },
  );
}

const atRest = ({ done, total, failed, leftOut }: PageNumbers) => ({
  done,
  total,
  failed,
  leftOut,
});

describe.skipIf(!hasBrowser)("the numbers of a rollout", () => {
  it.each(seeds)(
    "agree at every moment of a random rollout, and at its end everywhere (seed %i)",
    async (seed) => {
      const random = createRandom(seed);
      console.fleet.behave(behaveAtRandom(random));
      const pinned = `gw-${String(1 + Math.floor(random() * size)).padStart(4, "0")}`;
      const pin = { id: "look", ids: [pinned], reason: "a test" };
      const { page } = await console.open();
      await page.getByRole("heading", { name: "Fleet" }).waitFor();
      await page.evaluate(watch);
      if (random() < 0.7) await console.program.post(`${pinsName}/Add`, pin);

      const end = await playUntilSeen(page, random);
      await console.program.post(`${pinsName}/Remove`, { id: "look", reason: "a test" });
      const rows = await untilRecorded(end);
      const done = rows.succeeded + rows.reverted - rows.failed_before;
      const last = await waitFor(
        async () => {
          const numbers = readNumbers((await picturesOf(page)).at(-1) as Texts);
          return numbers.done === done && numbers.deploying === 0 && !numbers.isRunning && numbers;
        },
        { withinMs: 10_000, what: `the page to show ${done} as done` },
      );
      const pictures = await picturesOf(page);
      const cli = await runVedette(["rollout", "status"], {
        VEDETTE_DATA_DIR: console.program.dataDir,
      });
      await page.getByRole("link", { name: "History", exact: true }).click();
      const row = page.getByRole("row").nth(1);
      const back = end.outcome === "rolled_back" ? `, ${rows.reverted} put back` : "";
      const past = [`${done} of ${rows.total}${back}`, String(rows.failed + rows.failed_before)];
      // Its list may be of a moment before the end.
      await waitFor(
        async () => {
          const shown = ["Done", "Failed"].map((name) => row.locator(`[data-name=${name}]`));
          const texts = await Promise.all(shown.map((cell) => cell.textContent()));
          return texts.join() === past.join();
        },
        { withinMs: 10_000, what: `the list of the past to have ${past.join(" and ")}` },
      );

      expect(pictures.flatMap(findDisagreements)).toEqual([]);
      expect(atRest(last)).toEqual({
        done,
        total: rows.total,
        failed: rows.failed + rows.failed_before,
        leftOut: rows.left_out,
      });
      expect(cli.stdout).toContain(
        `${rows.succeeded} of ${rows.total} on the image, ${rows.failed} failed, 0 in flight`,
      );
    },
  );
});
