/** A rollout driven by clicks, from sign-in to rollback. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type ConsoleProgram,
  confirm,
  heading,
  start,
  startConsoleProgram,
} from "../../support/program/console-browser.ts";
import { hasBrowser, openPage } from "../../support/servers/browser.ts";

const image = (version: string) => `registry.example.com/vedette/sentinel:${version}`;

/** An image of this name fails on every tenth sentinel. */
const isBad = (id: string, name: string) => name.endsWith(":bad") && id.endsWith("5");

let console: ConsoleProgram;

beforeAll(async () => {
  if (!hasBrowser) return;
  console = await startConsoleProgram({
    size: 40,
    behave: (id, name) =>
      isBad(id, name)
        ? { failAfterMs: 100, reason: "image_pull_failed" }
        : { readyAfterMs: name.endsWith(":slow") ? 1_500 : 50 },
  });
});

afterAll(() => console?.stop());

describe.skipIf(!hasBrowser)("signing in", () => {
  it("is refused with a wrong token, and says so", async () => {
    const { page } = await openPage();
    await page.goto(`${console.program.endpoints().control}/console`);

    await page.getByLabel("Token").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();

    await page.getByRole("alert").filter({ hasText: /token/i }).waitFor();
    expect(await page.getByRole("navigation").count()).toBe(0);
  });

  it("leaves a cookie that no script reads and no other site sends", async () => {
    const { page } = await console.open();

    const [cookie] = await page.context().cookies();

    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
    expect(await page.evaluate("document.cookie")).toBe("");
  });

  it("refuses a write without the page's own mark", async () => {
    const { page, address } = await console.open();

    const statuses = await page.evaluate(async (base) => {
      const write = (headers: Record<string, string>) =>
        fetch(`${base}/api/vedette.v1.SentinelRolloutService/singleton/Cancel`, {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: JSON.stringify({ expect: { rollout_id: null, state: "idle" } }),
        });
      return [(await write({})).status, (await write({ "x-csrf-token": "guess" })).status];
    }, address);

    expect(statuses).toEqual([403, 403]);
  });

  it("ends for good with signing out", async () => {
    const { page, address } = await console.open();
    const cookies = await page.context().cookies();

    await confirm(page, /Sign out/, "Sign out");
    await page.getByLabel("Token").waitFor();
    await page.context().addCookies(cookies);
    const answer = await page.request.get(`${address}/api/session`);

    expect(answer.status()).toBe(401);
  });
});

describe.skipIf(!hasBrowser)("a rollout", () => {
  it("is planned, started and watched to its end without a reload", async () => {
    const { page, requests, complaints } = await console.open();

    await start(page, image("v2"));
    await heading(page, "Completed");

    const documents = requests.filter((url) => url.endsWith("/console"));
    expect(documents).toHaveLength(1);
    expect(await page.getByText("40 of 40").count()).toBeGreaterThan(0);
    expect(complaints.filter((line) => !line.includes("401"))).toEqual([]);
  });

  it("that fails is paused, resumed and rolled back by clicks, each after a confirmation", async () => {
    const { page } = await console.open();

    await start(page, image("bad"), "50, 100");
    await heading(page, /Paused after wave 1/);
    const resume = await confirm(page, "Resume…", /Start wave 2/);
    await heading(page, /Paused after wave 2/);
    const rollback = await confirm(page, "Roll back…", /^Roll back \d+$/);
    await heading(page, "Rolled back");
    await page.getByText("36 sentinels run their previous image again.").waitFor();

    expect(resume).toMatch(/Wave 2 starts: 20 sentinels get sentinel:bad/);
    expect(rollback).toMatch(/Roll back 36 sentinels to sentinel:v\d\?/);
  });

  it("soaks, is paused, resumed and has its soak skipped, with a reason", async () => {
    const { page } = await console.open();

    await start(page, image("v3"), "50, 100", async () => {
      await page.getByLabel("Soak").fill("600, 0");
      await page.getByLabel("Failures allowed").fill("10%");
      await page.getByLabel("Roll back by itself").check();
    });
    await heading(page, /Soaking after wave 1 of 2/);
    await confirm(page, "Pause…", "Pause the rollout");
    await heading(page, /Paused after wave 1/);
    await confirm(page, "Resume…", /Start wave 2/);
    await heading(page, /Soaking after wave 1 of 2/);
    await page.getByRole("button", { name: "Skip the wait…" }).click();
    await page.getByLabel("Reason").fill("incident 4711");
    await page.getByRole("button", { name: "Skip it" }).press("Enter");

    await heading(page, "Completed");
    await page.getByText(/ended the wait: incident 4711/).waitFor();
  });

  it("is cancelled by a click", async () => {
    const { page } = await console.open();

    await start(page, image("slow"), "10, 20, 30, 40, 50, 60, 100");
    await heading(page, /In progress/);
    await confirm(page, "Cancel…", "Cancel the rollout");

    await heading(page, "Cancelled");
  });

  it("refuses an operation that was decided on an older state", async () => {
    const { page } = await console.open();
    const { page: other } = await console.open();
    await other.getByRole("link", { name: "New rollout…" }).click();
    await other.getByLabel("Image").fill(image("v9"));
    await other.getByRole("button", { name: "Show the plan" }).click();
    await other.getByRole("button", { name: "Start this rollout…" }).click();

    await start(page, image("v8"));
    await heading(page, /In progress|Completed/);
    await other.getByRole("button", { name: "Start the rollout" }).click();

    await other.getByRole("alert").filter({ hasText: "The rollout has changed: it is" }).waitFor();
    await heading(page, "Completed");
  });

  it("is shown again after the server was killed and came back", async () => {
    const { page } = await console.open();
    const { program } = console;

    program.kill9("main");
    await page.getByText("The connection is lost").waitFor();
    await program.start();

    await page.getByText("Live", { exact: true }).waitFor();
    await heading(page, "Completed");
  });
});
