/** What the address keeps, what a page calls itself, and what is shown of what is not there. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type ConsoleProgram,
  heading,
  startConsoleProgram,
} from "../../support/program/console-browser.ts";
import { hasBrowser } from "../../support/servers/browser.ts";
import { waitFor } from "../../support/wait-for.ts";

let console: ConsoleProgram;
/** Ids of rollouts, the oldest first. */
const rollouts: string[] = [];

beforeAll(async () => {
  if (!hasBrowser) return;
  console = await startConsoleProgram({ size: 3 });
  for (const version of ["v2", "v3", "v4"]) {
    const image = `registry.example.com/vedette/sentinel:${version}`;
    const { body } = await console.program.call("Rollout", { image, wave_percentages: [100] });
    rollouts.push(String(body["rollout_id"]));
    await waitFor(
      async () => (await console.program.call("Status")).body["state"] === "completed",
      {
        withinMs: 30_000,
        what: "the rollout to be completed",
      },
    );
  }
});

afterAll(() => console?.stop());

const scrollOf = (page: Page) => page.evaluate("Math.round(scrollY)") as Promise<number>;

/** Until the page is scrolled that far. */
const scrolled = (page: Page, wanted: number) =>
  waitFor(async () => Math.abs((await scrollOf(page)) - wanted) < 3, {
    withinMs: 20_000,
    what: `the page to be scrolled to ${wanted}`,
  });

describe.skipIf(!hasBrowser)("the address", () => {
  it("keeps the range of a chart over a reload, and in a link to somebody else", async () => {
    const { page } = await console.open("/checks/liveness");
    await page.getByLabel("7 days").check();
    const link = new URL(page.url());

    await page.reload();
    await page.getByLabel("7 days").waitFor();
    const isKept = await page.getByLabel("7 days").isChecked();
    const other = await console.open(`/checks/liveness${link.search}`);
    await other.page.getByLabel("7 days").waitFor();

    expect(link.search).toBe("?hours=168");
    expect(isKept).toBe(true);
    expect(await other.page.getByLabel("7 days").isChecked()).toBe(true);
  });

  it("is as short as before once the usual range is chosen again", async () => {
    const { page } = await console.open("/keys");

    await page.getByRole("combobox", { name: "Time" }).selectOption("1 hour");
    await page.getByRole("combobox", { name: "Time" }).selectOption("24 hours");

    expect(new URL(page.url()).search).toBe("");
  });

  it("keeps the range of Keys, and Back leads to the page before and not to another range", async () => {
    const { page } = await console.open("/checks");
    await page.getByRole("link", { name: "Keys", exact: true }).click();
    await page.getByRole("combobox", { name: "Time" }).selectOption("7 days");
    await page.getByRole("combobox", { name: "Time" }).selectOption("1 hour");

    await page.goBack();
    await page.getByRole("heading", { level: 2, name: "API checks" }).waitFor();
    await page.goForward();
    await heading(page, "Keys");

    expect(await page.getByRole("combobox", { name: "Time" }).inputValue()).toBe("1");
  });

  it("keeps the alert that is simulated", async () => {
    const { page } = await console.open("/routes");
    await page.getByLabel("severity").selectOption("info");
    await page.getByText(/^Nobody is notified/).waitFor();

    await page.reload();

    await page.getByText(/^Nobody is notified/).waitFor();
    expect(await page.getByLabel("severity").inputValue()).toBe("info");
  });

  it("has the page of History, which Back and Forward restore", async () => {
    const [oldest, middle] = rollouts;
    const { page, address } = await console.open(`/history?before=${middle}`);
    const links = () => page.locator("tbody td a:has(.image)").count();
    await page.locator(`a[href$="/history/${oldest}"]`).waitFor();
    const before = await links();

    await page.getByRole("link", { name: "Newest" }).click();
    await page.locator(`a[href$="/history/${middle}"]`).waitFor();
    const newest = await links();
    await page.goBack();
    await waitFor(async () => (await links()) === 1, { withinMs: 20_000, what: "one rollout" });

    expect([before, newest]).toEqual([1, 3]);
    expect(page.url()).toBe(`${address}/history?before=${middle}`);
  });

  it("restores how far a page was scrolled, by Back and by a reload", async () => {
    const { page } = await console.open("/checks");
    await page.setViewportSize({ width: 360, height: 500 });
    const link = page.getByRole("link", { name: "Quota Check", exact: true });
    await link.focus();
    const left = await scrollOf(page);

    await page.keyboard.press("Enter");
    await heading(page, /^Quota Check:/);
    const onNextPage = await scrollOf(page);
    await page.goBack();
    await scrolled(page, left);
    await page.reload();
    await scrolled(page, left);

    expect(left).toBeGreaterThan(200);
    expect(onNextPage).toBe(0);
  });
});

describe.skipIf(!hasBrowser)("the title", () => {
  it.each([
    ["a check", () => "/checks/liveness", "Liveness · Checks · Vedette"],
    ["a past rollout", () => `/history/${rollouts[0]}`, "sentinel:v2 · History · Vedette"],
    [
      "a comparison",
      () => `/history/${rollouts[0]}/${rollouts[1]}`,
      "sentinel:v2 and sentinel:v3 · History · Vedette",
    ],
    ["a page with a name of its own", () => "/keys", "Keys · Vedette"],
  ])("of %s names it", async (_of, path, title) => {
    const { page } = await console.open(path());

    await expect.poll(() => page.title(), { timeout: 20_000 }).toBe(title);
  });

  it("is that of the next page after a check was left", async () => {
    const { page } = await console.open("/checks/liveness");
    await expect.poll(() => page.title(), { timeout: 20_000 }).toMatch(/^Liveness/);

    await page.getByRole("link", { name: "Keys", exact: true }).click();

    await expect.poll(() => page.title(), { timeout: 20_000 }).toBe("Keys · Vedette");
  });
});

describe.skipIf(!hasBrowser)("what is not there", () => {
  const unknown = "00000000-0000-4000-8000-000000000000";
  it.each([
    ["/checks/nope", "Check not found", "All checks", "No open alerts"],
    [`/history/${unknown}`, "Rollout not found", "All rollouts", "History"],
    ["/history/%20", "Rollout not found", "All rollouts", "History"],
    [`/history/${unknown}/${unknown}`, "Rollout not found", "All rollouts", "History"],
    ["/keys?workspace=ws_nope", "Workspace not found", "All keys", "Keys"],
    ["/routes?source=nope", "Alert not found", "Try another alert", "Alert routes"],
    ["/nope", "Page not found", "The current rollout", "Completed"],
  ])("at %s is called so, with a way back", async (path, title, back, then) => {
    const { page } = await console.open(path);
    await heading(page, title);
    // An effect sets it, after the page was drawn.
    await expect.poll(() => page.title(), { timeout: 20_000 }).toBe(`${title} · Vedette`);

    await page.getByRole("main").getByRole("link", { name: back }).click();
    await heading(page, then);
  });
});
