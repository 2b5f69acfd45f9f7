/** The Checks page of more monitors than it shows: search, state, more of them, and a mute. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type ConsoleProgram,
  findBarriers,
  startConsoleProgram,
} from "../../support/program/console-browser.ts";
import { hasBrowser } from "../../support/servers/browser.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

let console: ConsoleProgram;
const dir = makeTempDir();

beforeAll(async () => {
  const file = path.join(dir.path, "vedette.config.json");
  const heartbeats = Array.from({ length: 120 }, (_, i) => ({
    id: `job-${String(i).padStart(3, "0")}`,
    periodSeconds: 86_400,
    graceSeconds: 3_600,
  }));
  const url = "http://127.0.0.1:9/";
  const checks = [{ id: "refused", name: "Refused", url, frequencySeconds: 10 }];
  writeFileSync(file, JSON.stringify({ checks, heartbeats }));
  console = await startConsoleProgram({ size: 2 }, { VEDETTE_DEFINITIONS__FILE: file });
});

afterAll(async () => {
  await console.stop();
  dir.remove();
});

const heartbeatsOf = (page: Page) => page.getByRole("region", { name: "Heartbeats" });
const rowsOf = (page: Page) => heartbeatsOf(page).getByRole("listitem");

describe.skipIf(!hasBrowser)("the page of many checks", () => {
  it("shows the first 50 of each kind, and 50 more when asked, also after a reload", async () => {
    const { page } = await console.open("/checks");
    const status = heartbeatsOf(page).getByRole("status");

    await status.filter({ hasText: "50 of 120" }).waitFor();
    expect(await rowsOf(page).count()).toBe(50);
    await heartbeatsOf(page).getByRole("button", { name: "Show 50 more" }).press("Enter");
    await status.filter({ hasText: "100 of 120" }).waitFor();
    await page.reload();
    await status.filter({ hasText: "100 of 120" }).waitFor();
    await heartbeatsOf(page).getByRole("button", { name: "Show 50 more" }).click();

    await expect.poll(() => rowsOf(page).count()).toBe(120);
    expect(await heartbeatsOf(page).getByRole("button").count()).toBe(0);
  });

  it("finds one by a part of its id, and says so when there is none", async () => {
    const { page } = await console.open("/checks");
    const field = page.getByRole("searchbox", { name: "Search" });

    await field.fill("job-11");
    await expect.poll(() => rowsOf(page).count()).toBe(10);
    await page.getByRole("region", { name: "API checks" }).getByText("No check is so.").waitFor();
    await field.fill("nothing is called so");
    await heartbeatsOf(page).getByText("No heartbeat is so.").waitFor();

    expect(await findBarriers(page)).toEqual([]);
  });

  it("shows those of one state, as its address says", async () => {
    const { page } = await console.open("/checks?status=failed");
    const apiChecks = page.getByRole("region", { name: "API checks" });

    await apiChecks.getByRole("link", { name: "Refused" }).waitFor();
    await heartbeatsOf(page).getByText("No heartbeat is so.").waitFor();
    await page.getByRole("combobox", { name: "State" }).selectOption({ label: "Waiting (120)" });
    await apiChecks.getByText("No check is so.").waitFor();

    expect(new URL(page.url()).search).toBe("?status=pending");
  });

  it("shows a muted one as muted at once, on its page and in the list", async () => {
    const { page } = await console.open("/checks");
    await page.getByRole("link", { name: "Refused" }).click();

    await page.getByRole("button", { name: "Mute…", exact: true }).click();
    await page.getByRole("button", { name: "Mute for 2 hours" }).click();
    await page.getByText(/^Quiet until /).waitFor();
    await page.getByRole("link", { name: "Checks", exact: true }).click();
    const row = page.getByRole("listitem").filter({ hasText: "Refused" });
    await row.waitFor();

    expect(await row.textContent()).toContain("quiet until");
  });

  it("is sent what has changed, not the whole list again", async () => {
    const { page } = await console.open("/checks");
    await rowsOf(page).first().waitFor();
    const answered = () => page.waitForResponse(/CheckReads\/List/);

    const answer = await answered();

    expect(answer.status()).toBe(226);
    expect((await answer.body()).length).toBeLessThan(2_000);
  });
});
