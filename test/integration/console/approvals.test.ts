/** Operators with different roles, and a rollout whose waves they approve, by clicks and keys. */
import { createHash } from "node:crypto";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { pinsName } from "#rollout/choice/contract.ts";
import {
  type ConsoleProgram,
  findBarriers,
  heading,
  start,
  startConsoleProgram,
} from "../../support/program/console-browser.ts";
import { hasBrowser, openPage } from "../../support/servers/browser.ts";

const image = (version: string) => `registry.example.com/vedette/sentinel:${version}`;

const operators = {
  alice: "read,operate",
  ben: "approve",
  cem: "read,operate,approve",
  rita: "read",
};
type Operator = keyof typeof operators;

const tokenOf = (name: string) => `token-of-${name}`;

/** Each operator, with the token of its name. */
function settingsOf(): Record<string, string> {
  const settings = Object.entries(operators).flatMap(([name, roles]) => {
    const setting = `VEDETTE_CONTROL__OPERATORS__${name.toUpperCase()}`;
    const hash = createHash("sha256").update(tokenOf(name)).digest("hex");
    return [
      [`${setting}__TOKEN`, hash],
      [`${setting}__ROLES`, roles],
    ];
  });
  return Object.fromEntries(settings);
}

let console: ConsoleProgram;

beforeAll(async () => {
  if (!hasBrowser) return;
  const fleet = { size: 10, behave: () => ({ readyAfterMs: 20 }) };
  console = await startConsoleProgram(fleet, settingsOf());
});

/** A test that failed leaves a rollout that waits. */
afterEach(async () => {
  if (hasBrowser) await console.program.call("Cancel");
});

afterAll(() => console?.stop());

async function openAs(name: Operator, path = ""): Promise<Page> {
  const { page } = await openPage();
  await page.goto(`${console.program.endpoints().control}/console${path}`);
  await page.getByLabel("Token").fill(tokenOf(name));
  await page.keyboard.press("Enter");
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
  return page;
}

/** Starts one as alice over the control gateway, and does not wait for its end. */
function begin(version: string, approvals: string): void {
  const request = { image: image(version), wave_percentages: [50, 100], approvals };
  void console.program.callAs(tokenOf("alice"), "Rollout/send", request);
}

const approveButton = (page: Page) => page.getByRole("button", { name: "Approve…" });

const buttons = (page: Page) => page.locator("main").getByRole("button").allTextContents();

describe.skipIf(!hasBrowser)("a rollout with approvals", () => {
  it("waits for another operator than its starter, who approves by keyboard with a reason", async () => {
    const alice = await openAs("alice");
    await start(alice, image("v2"), "50, 100", async () => {
      await alice.getByLabel("Approvals").selectOption({ label: "All after the first" });
      await alice.getByRole("button", { name: "Show the plan" }).click();
      await alice.getByText("needs an approval").waitFor();
      expect(await alice.getByText("needs an approval").count()).toBe(1);
    });
    await heading(alice, "Waiting for an approval of wave 2 of 2");
    const why = "It waits until an operator other than alice approves wave 2.";
    await alice.locator(".notice").getByText(why).waitFor();
    await alice.getByText("You started this rollout: another operator has to").waitFor();
    const isStarterAllowed = await approveButton(alice).isEnabled();
    const offeredToStarter = await buttons(alice);
    const barriers = await findBarriers(alice);

    const ben = await openAs("ben");
    await ben.getByText("may read, approve", { exact: true }).waitFor({ state: "attached" });
    await approveButton(ben).press("Enter");
    const dialog = ben.getByRole("dialog");
    const words = await dialog.textContent();
    await ben.keyboard.type("the canaries are fine");
    await ben.keyboard.press("Tab");
    await ben.keyboard.press("Tab");
    await ben.keyboard.press("Enter");
    await heading(ben, "Completed");
    await heading(alice, "Completed");
    await alice.getByText("ben approved wave 2: the canaries are fine.").waitFor();
    const approvals = alice.getByRole("region", { name: "Approvals" });
    // It comes with another event than the message.
    await approvals.getByText(/Wave 2 by ben/).waitFor();

    expect(isStarterAllowed).toBe(false);
    expect(offeredToStarter).toEqual(expect.arrayContaining(["Pause…", "Cancel…"]));
    expect(offeredToStarter).not.toContain("Skip the wait…");
    expect(barriers).toEqual([]);
    expect(words).toContain("Approve wave 2 of 2?");
    expect(words).toContain("5 sentinels get sentinel:v2");
    expect(words).toContain("Started by alice.");
    expect(words).toContain("So far: 5 sentinels succeeded, none failed.");
    expect(await approvals.textContent()).toMatch(
      /Needed by all waves after the first\..*Wave 2 by ben.*: the canaries are fine/,
    );
  });

  it("is approved before its first wave, without a reason, and not with the ingress token", async () => {
    begin("v3", "every_wave");
    const { page: shared } = await console.open();
    await heading(shared, "Waiting for an approval of the first wave");
    await shared.getByText("An approval has to have a name").waitFor();
    const isSharedAllowed = await approveButton(shared).isEnabled();

    const cem = await openAs("cem");
    await approveButton(cem).click();
    const words = await cem.getByRole("dialog").textContent();
    await cem.getByRole("button", { name: "Approve the first wave" }).click();
    await heading(cem, "Waiting for an approval of wave 2 of 2");
    await approveButton(cem).click();
    await cem.getByRole("button", { name: "Approve wave 2" }).click();
    await heading(cem, "Completed");

    expect(isSharedAllowed).toBe(false);
    expect(words).toContain("Nothing is deployed yet.");
  });

  it("refuses an approval of a wave that does not wait any more", async () => {
    begin("v4", "every_wave");
    const cem = await openAs("cem");
    await approveButton(cem).click();
    await console.program.callAs(tokenOf("ben"), "Approve", { reason: "in time" });
    await heading(cem, "Waiting for an approval of wave 2 of 2");

    await cem.getByRole("button", { name: "Approve the first wave" }).click();

    await cem.getByRole("alert").filter({ hasText: "approval of wave 2 by now" }).waitFor();
  });
});

describe.skipIf(!hasBrowser)("a gate that waits for a confirmation", () => {
  it("is confirmed by a button beside its evidence, also by the starter, and not skipped", async () => {
    const message = "look at the canaries";
    const gates = [{ kind: "pause", name: "sign-off", message }];
    const request = { image: image("v6"), wave_percentages: [50, 100], gates };
    void console.program.callAs(tokenOf("cem"), "Rollout/send", request);
    const rita = await openAs("rita");
    const panel = rita.getByRole("region", { name: "Gate after wave 1" });
    await panel.getByText(`waits for a confirmation: ${message}`).waitFor();
    const offeredToReader = await buttons(rita);

    const cem = await openAs("cem");
    const confirm = cem.getByRole("button", { name: "Confirm sign-off…" });
    await confirm.waitFor();
    const offered = await buttons(cem);
    const barriers = await findBarriers(cem);
    await confirm.press("Enter");
    const dialog = cem.getByRole("dialog");
    const words = await dialog.textContent();
    await cem.getByLabel("Reason (optional)").fill("they are fine");
    await dialog.getByRole("button", { name: "Confirm" }).click();
    await heading(cem, "Completed");
    await cem.getByText("sign-off: they are fine").waitFor();

    expect(offeredToReader).toEqual([]);
    expect(offered).toContain("Cancel…");
    expect(offered).not.toContain("Skip the wait…");
    expect(barriers).toEqual([]);
    expect(words).toContain(`sign-off waits for a confirmation: ${message}.`);
    expect(words).toContain("So far: 5 sentinels succeeded, none failed.");
  });
});

describe.skipIf(!hasBrowser)("an operator who may only read", () => {
  it("sees a rollout that waits, and is offered nothing that changes it", async () => {
    begin("v5", "every_wave");
    const rita = await openAs("rita");
    await heading(rita, "Waiting for an approval of the first wave");
    await rita.getByText("may read", { exact: true }).waitFor({ state: "attached" });

    const offered = await buttons(rita);

    for (const name of ["Approve…", "Pause…", "Cancel…"]) expect(offered).not.toContain(name);
    expect(await rita.getByRole("link", { name: "New rollout…" }).count()).toBe(0);
  });

  it.each([
    ["/windows", "Windows"],
    ["/pins", "Pins"],
    ["/checks/liveness", /^Liveness/],
  ])("is offered no change on %s", async (path, title) => {
    const pin = { id: "debug", ids: ["gw-9999"], reason: "a memory leak" };
    await console.program.post(`${pinsName}/Add`, pin);
    const rita = await openAs("rita", path);
    await heading(rita, title);

    const offered = await buttons(rita);
    await console.program.post(`${pinsName}/Remove`, { id: pin.id, reason: "a test" });

    expect(offered).toEqual([]);
  });

  it("sees a plan, and can't start it", async () => {
    const rita = await openAs("rita", "/start");
    await rita.getByText("You may see a plan here, but not start it").waitFor();
    await rita.getByLabel("Image").fill(image("v9"));
    await rita.keyboard.press("Enter");

    await rita.getByText("10 sentinels get").waitFor();

    expect(await rita.getByRole("button", { name: "Start this rollout…" }).count()).toBe(0);
  });
});
