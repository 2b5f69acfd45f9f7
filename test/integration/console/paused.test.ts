/** What somebody sees who is woken by a paused rollout, and what is done by one click. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  type ConsoleProgram,
  confirm,
  heading,
  start,
  startConsoleProgram,
} from "../../support/program/console-browser.ts";
import { hasBrowser, type openPage } from "../../support/servers/browser.ts";

type Page = Awaited<ReturnType<typeof openPage>>["page"];

const image = (version: string) => `registry.example.com/vedette/sentinel:${version}`;
const crash = "crash_loop: the container exited with 1: config key `upstreams` is missing";

let console: ConsoleProgram;

beforeAll(async () => {
  if (!hasBrowser) return;
  console = await startConsoleProgram({
    size: 20,
    behave: (id, name) => {
      if (name.endsWith(":all-bad")) return { failAfterMs: 50, reason: crash };
      const isBad = name.endsWith(":bad") && id.endsWith("5");
      return isBad ? { failAfterMs: 50, reason: crash } : { readyAfterMs: 20 };
    },
    readLog: (id) => `${id} starts\npanic: upstreams is missing`,
  });
});

afterAll(() => console?.stop());

/** Whatever a test has left, also one that has failed. */
beforeEach(async () => {
  if (!hasBrowser) return;
  const { status } = await console.program.call("RollbackAll", {});
  if (status >= 300) await console.program.call("Cancel", {});
});

/** The headings of the page, in the order in which they are read. */
const headingsOf = (page: Page): Promise<string[]> =>
  page.getByRole("main").getByRole("heading").allTextContents();

const actionsOf = (page: Page): Promise<string[]> =>
  page.locator(".actions").getByRole("button").allTextContents();

describe.skipIf(!hasBrowser)("a rollout that its image has paused", () => {
  it("says why in the heading and the tab, with the whole reason before the fleet, also on a phone", async () => {
    const { page } = await console.open();
    await page.setViewportSize({ width: 360, height: 740 });
    await start(page, image("bad"), "100");

    await heading(page, "Paused after wave 1: 2 sentinels failed");
    // The fleet says by its list alone that they serve: it is asked for at once.
    await page.getByText("18 of 20 run bad. 2 failed and still serve v1.").waitFor();
    await page.getByText(crash, { exact: true }).first().waitFor();

    await expect
      .poll(() => page.title(), { timeout: 20_000 })
      .toBe("Paused: 2 sentinels failed · sentinel:bad · Vedette");
    const headings = await headingsOf(page);
    expect(headings.indexOf("Failures")).toBe(1);
    expect(headings.indexOf("Fleet")).toBeGreaterThan(1);
    expect(await actionsOf(page)).toEqual(["Roll back…", "Resume…", "Cancel…"]);
    const [safe, other] = await Promise.all(
      ["Roll back…", "Resume…"].map((name) => page.getByRole("button", { name }).boundingBox()),
    );
    expect(safe?.y).toBeLessThan(other?.y ?? 0);
  });

  it("is rolled back by keys alone, and stands in History as that", async () => {
    const { page, address } = await console.open();
    await start(page, image("bad"), "100");
    await heading(page, "Paused after wave 1: 2 sentinels failed");
    await page.getByRole("button", { name: "Roll back…" }).focus();

    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Roll back 18" }).focus();
    await page.keyboard.press("Enter");

    await heading(page, "Rolled back");
    await page.goto(`${address}/history`);
    const row = page.getByRole("row").filter({ hasText: "sentinel:bad" }).first();
    await row.getByText("Rolled back").waitFor();
    await row.getByText("18 of 20").waitFor();
  });

  it("offers to go back although no sentinel took the image, and says what that does", async () => {
    const { page } = await console.open();
    await start(page, image("all-bad"), "50, 100");
    await heading(page, "Paused after wave 1: 10 sentinels failed");
    // Only a few of ten logs are kept.
    await page
      .getByRole("region", { name: /^Log of/ })
      .getByText("panic: upstreams")
      .waitFor();

    const words = await confirm(page, "Roll back…", "Roll back");

    expect(words).toContain("No sentinel has the new image: nothing is restored");
    await heading(page, "Cancelled");
  });
});

it.skipIf(!hasBrowser)("a rollout that an operator has paused is resumed first", async () => {
  const { page } = await console.open();
  await start(page, image("v2"), "50, 100", async () => {
    await page.getByLabel("Soak").fill("600, 0");
  });
  await heading(page, /Soaking after wave 1 of 2/);
  await confirm(page, "Pause…", "Pause the rollout");

  await heading(page, "Paused after wave 1 by the ingress token (no operator)");

  expect(await actionsOf(page)).toEqual(["Resume…", "Roll back…", "Cancel…"]);
});
