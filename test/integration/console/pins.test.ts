/** Pins, and which sentinels a rollout takes in which order, by clicks and keys. */
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { pinHandlers, pinsName } from "#rollout/choice/contract.ts";
import {
  type ConsoleProgram,
  confirm,
  findBarriers,
  heading,
  start,
  startConsoleProgram,
} from "../../support/program/console-browser.ts";
import { hasBrowser } from "../../support/servers/browser.ts";

const image = (version: string) => `registry.example.com/vedette/sentinel:${version}`;
const reason = "a memory leak is looked at there";

let console: ConsoleProgram;

beforeAll(async () => {
  if (!hasBrowser) return;
  console = await startConsoleProgram({ size: 10, behave: () => ({ readyAfterMs: 20 }) });
});

/** A test that failed leaves its pins. */
afterEach(async () => {
  if (!hasBrowser) return;
  const { post } = console.program;
  const { pins } = pinHandlers.List.output.parse((await post(`${pinsName}/List`)).body);
  for (const { id } of pins) await post(`${pinsName}/Remove`, { id, reason: "a test" });
});

afterAll(() => console?.stop());

const goTo = (page: Page, name: string) => page.getByRole("link", { name, exact: true }).click();

const focused = (page: Page) => page.evaluate("document.activeElement.name");

/** The sentinels that run this version. */
const running = (version: string) =>
  [...console.fleet.running()].filter(([, name]) => name === image(version)).map(([id]) => id);

async function addPin(
  page: Page,
  { id, ids }: { id: string; ids: string },
  warning?: string,
): Promise<void> {
  await goTo(page, "Pins");
  await page.getByLabel("Name").fill(id);
  await page.getByLabel("By id").fill(ids);
  await page.getByLabel("Reason").fill(reason);
  await page.keyboard.press("Enter");
  const more = warning === undefined ? "" : ` Warning: ${warning}`;
  await page.getByText(`The pin ${id} is added: ${ids}, until it is removed.${more}`).waitFor();
}

describe.skipIf(!hasBrowser)("pins", () => {
  it("are added by a form, which says at each field what is wrong with it, and removed", async () => {
    const { page } = await console.open("/pins");
    await page.getByText("There are no pins: rollouts leave no sentinel out.").waitFor();

    await page.getByLabel("Name").fill("Debug");
    await page.getByLabel("Reason").fill(reason);
    await page.getByLabel("By label").fill("canary");
    await page.getByRole("button", { name: "Add the pin" }).click();
    await page.getByText("must be pairs such as tier=canary").waitFor();
    const first = await focused(page);
    await page.getByLabel("By label").fill("");
    await page.keyboard.press("Enter");
    await page.getByText("must have ids, regions or labels").waitFor();
    const second = await focused(page);
    const barriers = await findBarriers(page);
    await page.getByLabel("Name").fill("debug");
    await page.getByLabel("By region").fill("eu, us");
    await page.getByLabel("By label").fill("tier=canary");
    await page.getByLabel("Ends").fill("2099-01-01T00:00");
    await page.keyboard.press("Enter");
    const row = page.getByRole("row", { name: /^debug/ });
    await row.getByText("in eu, us; tier=canary").waitFor();

    expect([first, second]).toEqual(["labels", "id"]);
    expect(barriers).toEqual([]);
    expect(await row.textContent()).toMatch(
      /until Jan 1, 2099.*memory leak.* by the ingress token \(no operator\)/,
    );
    expect(await page.getByRole("alert").count()).toBe(0);
    const words = await confirm(page, "Remove debug…", "Remove it", { reason: "it is found" });
    expect(words).toContain("It holds in eu, us; tier=canary until Jan 1, 2099");
    await page.getByText("There are no pins").waitFor();
  });

  it("of which no sentinel has the id are added with a warning", async () => {
    const { page } = await console.open("/pins");
    await addPin(
      page,
      { id: "typo", ids: "gw-9999" },
      "pin typo, ids: no sentinel is called gw-9999",
    );
  });

  it("of which another has the same name are refused below the form", async () => {
    const { page } = await console.open("/pins");
    await addPin(page, { id: "taken", ids: "gw-0001" });

    await page.getByLabel("Name").fill("taken");
    await page.getByLabel("By id").fill("gw-0002");
    await page.getByLabel("Reason").fill(reason);
    await page.keyboard.press("Enter");

    await page.getByRole("alert").filter({ hasText: "there is another pin taken" }).waitFor();
  });

  it("are added once by two clicks, and not removed without a reason", async () => {
    const { page } = await console.open("/pins");
    await page.getByLabel("Name").fill("twice");
    await page.getByLabel("By id").fill("gw-0001");
    await page.getByLabel("Reason").fill(reason);

    await page.getByRole("button", { name: "Add the pin" }).dblclick();
    await page.getByText("The pin twice is added").waitFor();
    await page.getByRole("button", { name: "Remove twice…" }).press("Enter");
    const verb = page.getByRole("dialog").getByRole("button", { name: "Remove it" });
    const isEnabled = await verb.isEnabled();
    await page.getByRole("dialog").getByLabel("Reason").fill("it is found");
    await verb.press("Enter");
    await page.getByText("There are no pins").waitFor();

    expect(isEnabled).toBe(false);
  });
});

describe.skipIf(!hasBrowser)("a sentinel", () => {
  it("shows its labels, and the pin that holds it back", async () => {
    const { page } = await console.open();
    await goTo(page, "Pins");
    await page.getByLabel("Name").fill("stable-ones");
    await page.getByLabel("By label").fill("tier=stable");
    await page.getByLabel("Reason").fill(reason);
    await page.keyboard.press("Enter");
    await page.getByText("The pin stable-ones is added: tier=stable").waitFor();

    await goTo(page, "Rollout");
    await page.getByRole("application", { name: /^ap: / }).press("Enter");
    const panel = page.getByRole("region", { name: "Sentinel gw-0002" });
    await panel.getByText("tier=stable", { exact: true }).waitFor();
    await panel
      .getByText(`Held back by the pin stable-ones until it is removed: ${reason}`)
      .waitFor();
    const barriers = await findBarriers(page);
    await panel.getByRole("link", { name: "stable-ones" }).press("Enter");

    await heading(page, "Pins");
    expect(barriers).toEqual([]);
  });
});

describe.skipIf(!hasBrowser)("a rollout", () => {
  it("takes the order, the limits and the exclusion of the form, and its plan says who is left out", async () => {
    const { page } = await console.open();
    await addPin(page, { id: "debug", ids: "gw-0001" });
    await goTo(page, "Rollout");

    await start(page, image("v2"), "50, 100", async () => {
      await page.getByLabel("Reason").fill("incident 4711");
      await page.getByText("Choice and order").press("Enter");
      await page.getByLabel("Canaries").fill("tier=canary");
      await page.getByLabel("Order of regions").fill("eu, us");
      await page.getByLabel("Cap per region").fill("2");
      await page.getByLabel("Unavailable at most").fill("50 %");
      await page.getByLabel("By id").fill("gw-0002");
      await page.getByText("fields filled in: 5").waitFor();
      await page.getByRole("button", { name: "Show the plan" }).press("Enter");
      const plan = page.getByRole("region", { name: "Left out: 2 sentinels" });
      await plan.getByText(`by the pin debug: ${reason}`).waitFor();
      await plan.getByText("by this request").waitFor();
      await page.getByText("50 %, part 1 of 3").waitFor();
      expect(await plan.textContent()).toMatch(/gw-0001.*gw-0002/);
      expect(await findBarriers(page)).toEqual([]);
    });
    await heading(page, "Completed");
    await page.getByText("Reason: incident 4711", { exact: true }).waitFor();
    const choice = page.getByRole("region", { name: "Choice and order" });

    const { body } = await console.program.call("Status");
    expect(body).toMatchObject({
      left_out: 2,
      policy: {
        canary_labels: { tier: "canary" },
        regions: ["eu", "us"],
        max_per_region: 2,
        max_unavailable: "50%",
        exclude: [{ ids: ["gw-0002"] }],
        reason: "incident 4711",
      },
    });
    expect(await choice.textContent()).toMatch(/Order of regionseu, us.*Excludedgw-0002/);
    expect(running("v2")).toHaveLength(8);
    expect(running("v2")).not.toContain("gw-0001");
  });

  it("of an image that every sentinel runs says that there is nothing to do, as does History", async () => {
    await console.program.call("Rollout", { image: image("v5"), wave_percentages: [100] });
    const { page } = await console.open();
    const reason = "nothing to do: all 10 sentinels run it already";

    await start(page, image("v5"), "100");
    await heading(page, "Completed");
    await page.getByText(reason).first().waitFor();
    await goTo(page, "History");

    const row = page.getByRole("row", { name: /v5/ }).first();
    await row.getByText("nothing to do", { exact: true }).waitFor();
    await row.getByText(reason).waitFor();
    expect(await row.textContent()).toContain("Completed");
    await page.getByRole("link", { name: "Rollout", exact: true }).click();
    await page.getByText(reason).first().waitFor();
    expect(await page.locator("dl.tiles").count()).toBe(0);
  });

  it("that is only for some says so in its plan, with the gate and the order", async () => {
    const { page } = await console.open("/start");
    await page.getByLabel("Image").fill(image("v9"));
    await page.getByLabel("Waves").fill("1, 5, 100");
    await page.getByLabel("Soak").fill("10m");
    await page.getByText("Choice and order").click();
    await page.getByLabel("Order of regions").fill("us");
    await page.getByLabel("Only these ids").fill("gw-0001, gw-0002");
    await page.getByLabel("Only these regions").fill("eu, us, ap");
    await page.getByRole("button", { name: "Show the plan" }).click();
    await page.getByRole("region", { name: "Left out: 8 sentinels" }).waitFor();

    const plan = await page.getByRole("region", { name: "Plan", exact: true }).textContent();
    for (const words of [
      "2 sentinels get",
      "only others are asked for",
      "Canaries first: none, no labels name any",
      "Order: us first, then all other regions",
      "Gate: none",
      "Merged: 5 % adds no sentinel, it is part of wave 1",
      "It pauses at the first wave with a failure.",
      "then watched for 10 min",
    ]) {
      expect(plan).toContain(words);
    }
    expect(await findBarriers(page)).toEqual([]);
  });

  it("is not planned with names that no sentinel has, which is said at their fields", async () => {
    const { page } = await console.open("/start");
    await page.getByLabel("Image").fill(image("v9"));
    await page.getByText("Choice and order").click();
    await page.getByLabel("By id").fill("gw-9999");
    await page.getByLabel("Order of regions").fill("eu, uss");
    await page.getByRole("button", { name: "Show the plan" }).click();

    await page.getByText("no sentinel is called gw-9999; there are gw-000").waitFor();
    await page.getByText("no sentinel is in uss: did you mean us?").waitFor();
    expect(await page.getByRole("button", { name: "Start this rollout…" }).count()).toBe(0);
  });

  it("is not planned with a refused field, which gets the focus also in a folded group", async () => {
    const { page } = await console.open("/start");
    await page.getByLabel("Image").fill(image("v3"));
    const group = page.getByText("Choice and order");
    await group.click();
    await page.getByLabel("Cap per region").fill("many");
    await group.click();

    await page.getByRole("button", { name: "Show the plan" }).click();
    await page.getByText("must be a count, for example 3").waitFor();
    const name = await focused(page);
    const barriers = await findBarriers(page);
    await page.keyboard.press("Control+A");
    await page.keyboard.type("25%");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Start this rollout…" }).waitFor();

    expect(name).toBe("maxPerRegion");
    expect(barriers).toEqual([]);
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  it("shows a sentinel that a new pin holds back as left out, also once it is over", async () => {
    await console.program.call("Rollout", { image: image("v3") });
    const { page } = await console.open();
    await start(page, image("v4"), "50, 100", async () => {
      await page.getByLabel("Soak").fill("600, 0");
    });
    await heading(page, /Soaking after wave 1 of 2/);
    const done = running("v4");
    const held = [...console.fleet.running().keys()].find((id) => !done.includes(id)) ?? "";
    await addPin(page, { id: "late", ids: held });
    await goTo(page, "Rollout");
    await confirm(page, "Skip the wait…", "Skip it", { reason: "a test" });
    await heading(page, "Completed");

    await page.getByText(/4 \/ 5.*1 left out/).waitFor();
    await page.getByRole("listitem").filter({ hasText: "Left out 1" }).waitFor();
    await goTo(page, "History");
    await page.getByRole("cell", { name: "sentinel:v4" }).getByRole("link").click();
    await page.getByText(/4 \/ 5.*1 left out/).waitFor();
    const failures = await page.getByRole("heading", { name: "Failures" }).count();
    await goTo(page, "History");
    await page
      .getByRole("link", { name: /^Compare with/ })
      .first()
      .click();
    const row = page.getByRole("row", { name: /^Left out/ });

    expect(await row.textContent()).toMatch(/1$/);
    expect(failures).toBe(0);
    expect(running("v4")).not.toContain(held);
  });
});
