/** The images that the form of a rollout offers, by keys and by clicks. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type ConsoleProgram,
  findBarriers,
  startConsoleProgram,
} from "../../support/program/console-browser.ts";
import { hasBrowser } from "../../support/servers/browser.ts";

const image = (version: string) => `registry.example.com/vedette/sentinel:${version}`;

let console: ConsoleProgram;

beforeAll(async () => {
  if (!hasBrowser) return;
  console = await startConsoleProgram({ size: 6, behave: () => ({ readyAfterMs: 10 }) });
  await console.program.call("Rollout", { image: image("v2"), wave_percentages: [100] });
});

afterAll(() => console?.stop());

const list = (page: Page) => page.getByRole("listbox", { name: "Seen before" });

describe.skipIf(!hasBrowser)("the image of a new rollout", () => {
  it("is chosen by keys, and is not sent by the same Enter", async () => {
    const { page } = await console.open("/start");
    const field = page.getByRole("combobox", { name: "Image" });
    await field.focus();
    expect(await list(page).count()).toBe(0);

    await page.keyboard.press("ArrowDown");
    await list(page).getByRole("option", { name: "a new tag of it" }).waitFor();
    const offered = await list(page).getByRole("option").allTextContents();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await page.getByText("Seen before: ran before.").waitFor();

    expect(offered[0]).toContain(`${image("")} a new tag of it`);
    expect(offered[1]).toMatch(/sentinel:v2 runs on 6 sentinels; rolled out .+, completed$/);
    expect(await field.inputValue()).toBe(image("v1"));
    expect(await list(page).count()).toBe(0);
    expect(await page.getByRole("button", { name: "Start this rollout…" }).count()).toBe(0);
  });

  it("begins with a repository that was chosen by a click, and is then said to be new", async () => {
    const { page } = await console.open("/start");
    const field = page.getByRole("combobox", { name: "Image" });

    await field.click();
    await list(page).getByRole("option", { name: "a new tag of it" }).click();
    await list(page).getByRole("option", { name: "sentinel:v2" }).waitFor();
    await page.keyboard.type("v3");
    await page.getByText("This image was never seen in this fleet.").waitFor();
    await page.keyboard.press("Enter");

    await page.getByRole("button", { name: "Start this rollout…" }).waitFor();
    expect(await field.inputValue()).toBe(image("v3"));
  });

  it("has a list that an Enter closes which sends the form", async () => {
    const { page } = await console.open("/start");
    await page.getByRole("combobox", { name: "Image" }).fill(image("v"));
    await list(page).getByRole("option", { name: "sentinel:v2" }).waitFor();

    await page.route("**/*.SentinelRolloutService/*/Plan*", (route) => route.abort());

    await page.keyboard.press("Enter");
    await page.getByText(/does not answer/).waitFor();

    expect(await list(page).count()).toBe(0);
  });

  it("has a list that Escape closes and that has no barriers", async () => {
    const { page } = await console.open("/start");
    await page.getByRole("combobox", { name: "Image" }).focus();
    await page.keyboard.press("ArrowDown");
    await list(page).waitFor();
    await page.keyboard.press("ArrowDown");
    await list(page).getByRole("option", { selected: true }).waitFor();

    const barriers = await findBarriers(page);
    await page.keyboard.press("Escape");

    expect(barriers).toEqual([]);
    expect(await list(page).count()).toBe(0);
  });

  it("fits into a window of 360 pixels while it is chosen", async () => {
    const { page } = await console.open("/start");
    await page.setViewportSize({ width: 360, height: 700 });
    await page.getByRole("combobox", { name: "Image" }).click();
    await list(page).waitFor();

    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
  });
});
