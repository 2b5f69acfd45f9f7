/** The page of what Restate retries: a call whose table is not there, until it is again. */
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { runningDatabaseUrl } from "#embedded/running.ts";
import {
  type ConsoleProgram,
  confirm,
  startConsoleProgram,
} from "../../support/program/console-browser.ts";
import { hasBrowser } from "../../support/servers/browser.ts";

const image = "registry.example.com/vedette/sentinel:v2";

let console: ConsoleProgram;
let database: pg.Client;

beforeAll(async () => {
  if (!hasBrowser) return;
  console = await startConsoleProgram({ size: 2 });
  database = new pg.Client(runningDatabaseUrl(console.program.dataDir));
  await database.connect();
});

const bringBack = () =>
  database?.query("ALTER TABLE IF EXISTS alert_outbox_away RENAME TO alert_outbox");

afterEach(bringBack);

afterAll(async () => {
  await database?.end();
  await console?.stop();
});

describe.skipIf(!hasBrowser)("the page of the engine", () => {
  it("shows a call that does not progress with its reason, tries it now, and sees it end", async () => {
    await database.query("ALTER TABLE alert_outbox RENAME TO alert_outbox_away");
    await console.program.call("Rollout/send", { image, wave_percentages: [100] });
    const { page } = await console.open("/engine");
    const row = page.getByRole("row").filter({ hasText: "vedette.v1.Notices" }).first();
    await row.getByText("alert_outbox").first().waitFor();

    await confirm(page, /^Try inv_.* now…$/, "Try now");
    await bringBack();

    await page.getByText("Restate retries nothing, and nothing is paused.").waitFor();
    const versions = page.getByRole("region", { name: "Versions" });
    expect(await versions.getByText(/^serves \d+ services$/).count()).toBe(1);
  });
});
