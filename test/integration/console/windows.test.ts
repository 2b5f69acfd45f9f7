/** Windows, freezes and a scheduled start, by clicks and keys. */
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { windowHandlers, windowsName } from "#rollout/windows/contract.ts";
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

let console: ConsoleProgram;

beforeAll(async () => {
  if (!hasBrowser) return;
  console = await startConsoleProgram({ size: 10, behave: () => ({ readyAfterMs: 20 }) });
});

/** A test that failed leaves its windows, and a rollout that waits. */
afterEach(async () => {
  if (!hasBrowser) return;
  const { post, call } = console.program;
  const { windows } = windowHandlers.List.output.parse((await post(`${windowsName}/List`)).body);
  if (windows.length > 0) await call("Cancel");
  for (const { id } of windows) await post(`${windowsName}/Remove`, { id, reason: "a test" });
});

afterAll(() => console?.stop());

/** As a field of a form has it, in the time zone of this machine, which is that of the browser. */
const inHours = (hours: number) =>
  Temporal.Now.plainDateTimeISO().add({ hours }).toString({ smallestUnit: "minute" });

const goTo = (page: Page, name: string) => page.getByRole("link", { name, exact: true }).click();

async function addFreeze(page: Page, id: string): Promise<void> {
  await goTo(page, "Windows");
  await page.getByLabel("Name").fill(id);
  await page.getByLabel("Kind").selectOption({ label: "Freeze" });
  await page.getByLabel("Ends").fill(inHours(5));
  await page.getByLabel("Reason").fill("nobody is here");
  await page.keyboard.press("Enter");
  await page.getByText(`The window ${id} is added`).waitFor();
}

/** Removes it, and answers the words of the confirmation. */
async function remove(page: Page, id: string): Promise<string> {
  await goTo(page, "Windows");
  const reason = "incident 4711";
  const words = await confirm(page, `Remove ${id}…`, "Remove it", { reason });
  await page.getByRole("cell", { name: id, exact: true }).waitFor({ state: "detached" });
  return words;
}

describe.skipIf(!hasBrowser)("windows", () => {
  it("are added by a form, which says at each field what is wrong with it, and removed", async () => {
    const { page } = await console.open("/windows");
    await page.getByText("There are no windows: waves start at any time.").waitFor();

    await page.getByLabel("Name").fill("Every day");
    await page.getByLabel("Reason").fill("somebody is there");
    await page.getByLabel("Time zone").fill("Europe/Nowhere");
    await page.getByRole("button", { name: "Add the window" }).click();
    await page.getByText("must be an IANA time zone").waitFor();
    const focused = await page.evaluate("document.activeElement.name");
    const barriers = await findBarriers(page);
    await page.getByLabel("Name").fill("every-day");
    await page.getByLabel("Time zone").fill("Europe/Berlin");
    for (const name of ["Mon", "Tue", "Wed"]) await page.getByRole("checkbox", { name }).check();
    await page.getByLabel("From").fill("00:00");
    await page.getByLabel("To", { exact: true }).fill("23:59");
    await page.getByRole("button", { name: "Add the window" }).press("Enter");
    const row = page.getByRole("row", { name: /^every-day/ });
    await row.getByText("Mon to Wed, 00:00 to 23:59, Europe/Berlin").waitFor();

    expect(focused).toBe("id");
    expect(barriers).toEqual([]);
    expect(await row.textContent()).toMatch(
      /allowed.*somebody is there.* by the ingress token \(no operator\)/,
    );
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(await remove(page, "every-day")).toContain("It is the only allowed window");
  });

  it("of which another has the same name are refused below the form", async () => {
    const { page } = await console.open("/windows");
    await addFreeze(page, "taken");

    await page.getByLabel("Name").fill("taken");
    await page.getByLabel("Kind").selectOption("freeze");
    await page.getByLabel("Reason").fill("another reason");
    await page.keyboard.press("Enter");

    await page.getByRole("alert").filter({ hasText: "there is another window taken" }).waitFor();
    await remove(page, "taken");
  });
});

describe.skipIf(!hasBrowser)("a rollout that waits for a window", () => {
  it("says until when, starts a wave all the same, and goes on when the freeze is removed", async () => {
    const { page } = await console.open("/windows");
    await page.getByText("A wave may start now.").waitFor();
    await addFreeze(page, "year-end");
    await page
      .getByText(/the freeze year-end is in force: nobody is here.* in (?:5 h|4 h 5\d min)/)
      .waitFor();

    await goTo(page, "Rollout");
    await start(page, image("v2"), "50, 100");
    await heading(page, "Waiting to start the first wave");
    await page
      .getByText(/freeze year-end is in force.*This wait ends in (?:5 h|4 h 5\d min)/)
      .waitFor();
    await page.getByRole("button", { name: "Start all the same…" }).click();
    const dialog = page.getByRole("dialog");
    const isEnabled = await dialog.getByRole("button", { name: "Start the wave" }).isEnabled();
    const words = await dialog.textContent();
    await dialog.getByLabel("Reason").fill("incident 4711");
    await dialog.getByRole("button", { name: "Start the wave" }).press("Enter");
    await heading(page, "Waiting for a window after wave 1 of 2");
    await page.getByRole("link", { name: "All windows" }).click();
    const removal = await remove(page, "year-end");
    await goTo(page, "Rollout");
    await heading(page, "Completed");

    expect(isEnabled).toBe(false);
    expect(words).toContain("This holds for this wave only: the next one waits again.");
    expect(removal).toContain("Waves may start in that time");
  });

  it("is paused and resumed before its first wave, and then starts on time", async () => {
    const { page } = await console.open("/windows");
    await addFreeze(page, "short");
    await goTo(page, "Rollout");
    await start(page, image("v3"), "100");
    await heading(page, "Waiting to start the first wave");

    await confirm(page, "Pause…", "Pause the rollout");
    await heading(page, "Paused before the first wave");
    await confirm(page, "Resume…", "Resume the rollout");
    await heading(page, "Waiting to start the first wave");
    await remove(page, "short");

    await goTo(page, "Rollout");
    await heading(page, "Completed");
  });

  it("is planned not before a time, which the plan and the page show", async () => {
    const { page } = await console.open();
    const time = page.getByText(/not before \w+ \d+, /);

    await start(page, image("v4"), "50, 100", async () => {
      await page.getByLabel("Not before").fill(inHours(48));
      await page.getByRole("button", { name: "Show the plan" }).click();
      await time.first().waitFor();
      expect(await time.count()).toBe(2);
    });
    await heading(page, "Waiting to start the first wave");
    await page.getByText(/It waits for its start\. This wait ends in (?:2 d|1 d 23 h)/).waitFor();
    const words = await confirm(page, "Cancel…", "Cancel the rollout");
    await heading(page, "Cancelled");

    expect(words).toContain("No wave has started: nothing is deployed.");
  });
});
