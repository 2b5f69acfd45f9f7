/** The page while the server does not answer, and afterwards: nobody has to click. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type ConsoleProgram,
  heading,
  startConsoleProgram,
} from "../../support/program/console-browser.ts";
import { hasBrowser } from "../../support/servers/browser.ts";

let console: ConsoleProgram;

beforeAll(async () => {
  if (!hasBrowser) return;
  console = await startConsoleProgram({ size: 3 });
});

afterAll(() => console?.stop());

/** Leaves what matches without an answer until the returned function is called, which tells how often it was asked. */
async function unanswered(page: Page, what: string): Promise<() => Promise<number>> {
  let asked = 0;
  await page.route(what, (route) => {
    asked += 1;
    return route.abort();
  });
  return async () => {
    await page.unroute(what);
    return asked;
  };
}

describe.skipIf(!hasBrowser)("what was not answered", () => {
  it("is read again by itself, also without an interval and on a page that had no data", async () => {
    const { page, address } = await console.open();
    const answer = await unanswered(page, "**/*.RolloutPromotions/List*");
    await page.goto(`${address}/promotions`);
    await page.getByText(/does not answer.*tried again by itself/).waitFor();

    await answer();

    await heading(page, "Promotions");
  });

  it("is read again at once when the machine is online again", async () => {
    const image = "registry.example.com/vedette/sentinel:v2";
    await console.program.call("Rollout", { image, wave_percentages: [100] });
    const { page } = await console.open("/history");
    const past = page.getByRole("link", { name: /sentinel:v2/ });
    await past.waitFor();
    await page.context().setOffline(true);
    await past.click();
    await page.getByText(/does not answer.*tried again by itself/).waitFor();

    await page.context().setOffline(false);

    await page.getByRole("heading", { level: 2, name: "Fleet" }).waitFor();
  });

  it("is the session as well: the page connects as soon as it can", async () => {
    const { page } = await console.open();
    const answer = await unanswered(page, "**/console/api/session");
    await page.reload();
    await page.getByText("Connecting to the server…").waitFor();
    await expect.poll(() => page.getByText("Connecting to the server…").count()).toBe(1);

    await answer();

    await page.getByRole("navigation", { name: "Pages" }).waitFor();
  });

  it("is the charting library as well", async () => {
    const { page, address } = await console.open();
    const answer = await unanswered(page, "**/assets/chart-*.js");
    await page.goto(`${address}/checks/liveness`);
    await page.getByRole("button", { name: "Run now" }).waitFor();
    await page.getByText("Drawing…").first().waitFor();

    const asked = await answer();

    await page.getByRole("img", { name: /^Response times of Liveness/ }).waitFor();
    expect(asked).toBeGreaterThan(0);
  });

  it("is found missing where the file of a chart has the name of an earlier version", async () => {
    const { page, address } = await console.open();
    await page.route("**/assets/chart-*.js", (route) => route.fulfill({ status: 404 }));

    await page.goto(`${address}/checks/liveness`);
    await page.getByText("this page may be of an earlier version").first().waitFor();
    await page.unroute("**/assets/chart-*.js");
    await page.getByRole("button", { name: "Reload the page" }).first().click();

    await page.getByRole("img", { name: /^Response times of Liveness/ }).waitFor();
  });

  it("is no order: a change that was not answered is not sent again by itself", async () => {
    const { page } = await console.open("/checks/liveness");
    const answer = await unanswered(page, "**/api/vedette.v1.ApiCheck/*/Mute");
    await page.getByRole("button", { name: "Mute…" }).click();
    await page.getByRole("button", { name: "Mute for 2 hours" }).click();
    await page.getByRole("alert").filter({ hasText: "does not answer" }).waitFor();
    await page.evaluate('dispatchEvent(new Event("online"))');
    // Reads go on meanwhile: two of them after the order was refused.
    await page.waitForResponse(/CheckReads\/List/);
    await page.waitForResponse(/CheckReads\/List/);

    expect(await answer()).toBe(1);
  });
});

/** The page as an earlier build had it, for as long as it is asked for. */
async function serveOlderPage(page: Page): Promise<() => number> {
  let loads = 0;
  await page.route(
    ({ pathname }) => /^\/console(?!\/(?:api|assets)\/)/.test(pathname),
    async (route) => {
      loads += 1;
      const answer = await route.fetch();
      const body = (await answer.text()).replace(/name="build" content="/, "$&older-");
      await route.fulfill({ response: answer, body });
    },
  );
  return () => loads;
}

describe.skipIf(!hasBrowser)("a page that is older than the server", () => {
  it("is loaded again by itself, once, and then says so", async () => {
    const { page, address } = await console.open();
    const loads = await serveOlderPage(page);

    await page.goto(address);
    const notice = page.getByText("A new version of this page is there.");
    await notice.waitFor();
    const before = loads();
    await page.unrouteAll({ behavior: "wait" });
    await page.getByRole("button", { name: "Reload" }).click();
    await page.getByText("Live", { exact: true }).waitFor();

    expect(before).toBe(2);
    expect(await notice.count()).toBe(0);
  });

  it("is not loaded again while somebody fills in the form of a rollout", async () => {
    const { page, address } = await console.open();
    const loads = await serveOlderPage(page);

    await page.goto(`${address}/start`);
    await page.getByLabel("Image").fill("registry.example.com/vedette/sentinel:v3");
    await page.getByText("A new version of this page is there.").waitFor();

    expect(loads()).toBe(1);
    expect(await page.getByLabel("Image").inputValue()).toMatch(/v3$/);
  });
});
