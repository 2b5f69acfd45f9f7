/** The fleet and its sentinels, found by clicks and keys. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type ConsoleProgram,
  heading,
  startConsoleProgram,
} from "../../support/program/console-browser.ts";
import { hasBrowser } from "../../support/servers/browser.ts";

const image = (version: string) => `registry.example.com/vedette/sentinel:${version}`;

const reason = "crash_loop: the container has restarted 5 times";

let console: ConsoleProgram;

/** Version 3 runs everywhere but on gw-0005, where it has failed and version 2 runs. */
beforeAll(async () => {
  if (!hasBrowser) return;
  console = await startConsoleProgram({
    size: 120,
    behave: (id, name) =>
      name.endsWith(":v3") && id === "gw-0005" ? { failAfterMs: 20, reason } : { readyAfterMs: 20 },
  });
  await console.program.call("Rollout", { image: image("v2"), wave_percentages: [100] });
  await console.program.call("Rollout", { image: image("v3"), wave_percentages: [100] });
  await console.program.call("Resume", {});
});

afterAll(() => console?.stop());

describe.skipIf(!hasBrowser)("the fleet", () => {
  it("shows which versions run where, and leads to those of one cell", async () => {
    const { page } = await console.open();
    await page.getByRole("link", { name: "Fleet", exact: true }).click();
    await heading(page, "Fleet");

    const versions = page.getByRole("region", { name: "What runs, by region" });
    await versions
      .getByRole("button", { name: /^Show the 1 sentinel in all regions with/ })
      .click();

    await page.getByText("1–1 of 1", { exact: true }).waitFor();
    await page.getByRole("link", { name: "gw-0005" }).waitFor();
    expect(new URL(page.url()).searchParams.get("image")).toBe(image("v2"));
  });

  it("is searched by a label while typing, refined by keys, and the same after a reload", async () => {
    const { page } = await console.open("/fleet");

    await page.getByLabel("Search").fill("tier=stable");
    await page.getByText("1–50 of 119").waitFor();
    await page.getByRole("combobox", { name: "Region" }).focus();
    await page.keyboard.type("eu");
    await page.getByText("1–40 of 40").waitFor();
    await page.reload();
    await page.getByText("1–40 of 40").waitFor();

    expect(await page.getByLabel("Search").inputValue()).toBe("tier=stable");
    expect(await page.getByRole("combobox", { name: "Region" }).inputValue()).toBe("eu");
    await page.getByRole("button", { name: "Show all" }).click();
    await page.getByText("1–50 of 120").waitFor();
  });

  it("keeps every letter of somebody who types as fast as the list follows", async () => {
    const { page } = await console.open("/fleet");
    const field = page.getByLabel("Search");

    for (const text of ["tier=canary", "region=eu"]) {
      await field.fill("");
      await field.pressSequentially(text, { delay: 260 });
      await expect.poll(() => new URL(page.url()).searchParams.get("search")).toBe(text);
      expect(await field.inputValue()).toBe(text);
    }
  });

  it("is turned page by page", async () => {
    const { page } = await console.open("/fleet");

    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText("51–100 of 120").waitFor();
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText("101–120 of 120").waitFor();

    expect(await page.getByRole("button", { name: "Next" }).isDisabled()).toBe(true);
    const list = page.getByRole("region", { name: "Sentinels", exact: true });
    expect(await page.evaluate("document.activeElement.getAttribute('aria-labelledby')")).toBe(
      "sentinels-title",
    );
    expect((await list.boundingBox())?.y).toBeLessThan(300);
    await page.getByRole("button", { name: "Previous" }).click();
    await page.getByText("51–100 of 120").waitFor();
  });

  it("shows from its numbers who has failed, and why", async () => {
    const { page } = await console.open("/fleet");

    await page.getByRole("button", { name: "Failed 1" }).click();

    await page.getByText("1–1 of 1", { exact: true }).waitFor();
    await page.getByText(reason).waitFor();
    const differences = page.getByRole("region", { name: "Ordered, and not what runs" });
    expect(await differences.getByRole("row").count()).toBe(2);
  });

  it("says that it searches while its rows are those of another question", async () => {
    const { page } = await console.open("/fleet");
    await page.getByText("1–50 of 120").waitFor();
    const answer = Promise.withResolvers<void>();
    await page.route("**/read/fleet*", async (route) => {
      await answer.promise;
      await route.continue();
    });

    await page.getByLabel("Search").fill("tier=canary");
    const list = page.getByRole("region", { name: "Sentinels", exact: true });
    await list.getByText("Searching…").waitFor();
    const isBusy = await list.getAttribute("aria-busy");
    answer.resolve();
    await page.getByText("1–1 of 1", { exact: true }).waitFor();

    expect(isBusy).toBe("true");
    expect(await list.getByText("Searching…").count()).toBe(0);
  });

  it("offers no other question where the server does not answer", async () => {
    const { page, address } = await console.open();
    await page.route("**/read/fleet*", (route) => route.abort());

    await page.goto(`${address}/fleet`);
    await page.getByText(/does not answer/).waitFor();

    await heading(page, "Fleet");
    expect(await page.getByRole("button", { name: "Show the whole fleet" }).count()).toBe(0);
  });

  it("says what is wrong with an address that asks for what no fleet has", async () => {
    const { page } = await console.open("/fleet?health=splendid");

    await heading(page, "Fleet");
    await page.getByText("health:").waitFor();
    await page.getByRole("button", { name: "Show the whole fleet" }).click();

    await page.getByText("1–50 of 120").waitFor();
  });
});

describe.skipIf(!hasBrowser)("a sentinel", () => {
  it("has a page with what it runs, the pin that holds it back, and all its deploys", async () => {
    const { page } = await console.open("/pins");
    await page.getByLabel("Name").fill("look-at-5");
    await page.getByLabel("By id").fill("gw-0005");
    await page.getByLabel("Reason").fill("a leak is looked at");
    await page.getByRole("button", { name: "Add the pin" }).click();
    await page.getByRole("row", { name: /^look-at-5/ }).waitFor();
    await page.goto(`${console.program.endpoints().control}/console/fleet?search=0005`);
    await page.getByRole("link", { name: "gw-0005" }).click();

    await heading(page, "gw-0005");
    await page.getByText("Its last deploy failed").waitFor();
    await page.getByText("Held back by the pin").waitFor();
    const deploys = page.getByRole("region", { name: "Deploys" });
    const outcomes = await deploys.locator("td[data-name=Outcome]").allTextContents();

    expect(outcomes.map((text) => text.trim())).toEqual([`Failed${reason}`, "Succeeded"]);
    await deploys.getByRole("link", { name: "sentinel:v3" }).click();
    await heading(page, /Completed|Cancelled|Paused/);
  });

  it("is reached from the cell of the rollout's grid", async () => {
    const { page } = await console.open();
    const grid = page.getByRole("application", { name: /^eu:/ });
    await grid.focus();
    await page.keyboard.press("Enter");

    const panel = page.getByRole("region", { name: /^Sentinel gw-/ });
    const id = (await panel.getByRole("link").first().textContent()) ?? "";
    await panel.getByRole("link", { name: id }).click();

    await heading(page, id);
    expect(new URL(page.url()).pathname).toBe(`/console/fleet/${id}`);
  });

  it("that is gone says so, and keeps its deploys", async () => {
    const { page } = await console.open("/fleet/ns%2Fset%2Fmember-0");

    await heading(page, "ns/set/member-0");
    await page.getByText("there is no sentinel ns/set/member-0 any more").waitFor();
    await page.getByText("No rollout had this sentinel.").waitFor();
  });
});
