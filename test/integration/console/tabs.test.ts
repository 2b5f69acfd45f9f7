/** Two tabs of one browser, which share a session: what the older one does once somebody else has signed in. */
import { createHash } from "node:crypto";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pinsName } from "#rollout/choice/contract.ts";
import {
  type ConsoleProgram,
  confirm,
  startConsoleProgram,
} from "../../support/program/console-browser.ts";
import { hasBrowser, openPage } from "../../support/servers/browser.ts";

const hashOf = (token: string) => createHash("sha256").update(token).digest("hex");

let console: ConsoleProgram;

beforeAll(async () => {
  if (!hasBrowser) return;
  console = await startConsoleProgram(
    { size: 2 },
    {
      VEDETTE_CONTROL__OPERATORS__ADA__TOKEN: hashOf("token-of-ada"),
      VEDETTE_CONTROL__OPERATORS__BEN__TOKEN: hashOf("token-of-ben"),
      VEDETTE_CONTROL__OPERATORS__BEN__ROLES: "read",
      VEDETTE_CONTROL__OPERATORS__CYD__TOKEN: hashOf("token-of-cyd"),
    },
  );
});

afterAll(() => console?.stop());

const address = (path = "") => `${console.program.endpoints().control}/console${path}`;

const signOut = (page: Page) => page.getByRole("button", { name: /Sign out/ });

async function signIn(page: Page, name: string, path = ""): Promise<void> {
  await page.goto(address(path));
  await page.getByLabel("Token").fill(`token-of-${name}`);
  await page.getByRole("button", { name: "Sign in" }).click();
  await signOut(page).filter({ hasText: name }).waitFor();
}

/** Signs in without a page, as a tab does that cannot tell the others. */
async function takeOver(page: Page, name: string): Promise<void> {
  const data = { token: `token-of-${name}` };
  const answer = await page.request.post(address("/api/session"), { data });
  expect(answer.status()).toBe(200);
}

describe.skipIf(!hasBrowser)("in two tabs", () => {
  it("a sign-out and the next sign-in show in the other tab at once", async () => {
    const { page: older } = await openPage();
    await signIn(older, "ada");
    await older.getByRole("link", { name: "New rollout…" }).waitFor();
    const newer = await older.context().newPage();
    await newer.goto(address());

    await confirm(newer, /Sign out/, "Sign out");
    await older.getByLabel("Token").waitFor();
    await signIn(newer, "ben");

    await signOut(older).filter({ hasText: "ben" }).waitFor();
    expect(await older.getByRole("link", { name: "New rollout…" }).count()).toBe(0);
  });

  it("a question that was asked before is not answered in the name of the next operator", async () => {
    const { page: older } = await openPage();
    await signIn(older, "ada");
    await signOut(older).click();
    const newer = await older.context().newPage();
    await takeOver(newer, "ben");
    await newer.goto(address());

    const dialog = older.getByRole("dialog");
    await dialog.getByRole("alert").filter({ hasText: "another tab of this browser" }).waitFor();

    expect(await dialog.getByRole("button", { name: "Sign out" }).isDisabled()).toBe(true);
    await dialog.getByRole("button", { name: "Go back" }).click();
    expect(await signOut(older).textContent()).toContain("ben");
  });

  it("a change that is refused for it says why, and may be made in the name of the next operator", async () => {
    const { page } = await openPage();
    await signIn(page, "ada", "/pins");
    await page.getByLabel("Name").fill("hold-one");
    await page.getByLabel("By id").fill("gw-0001");
    await page.getByLabel("Reason").fill("a test");
    await takeOver(page, "cyd");

    const add = page.getByRole("button", { name: "Add the pin" });
    await add.click();
    await page.getByRole("alert").filter({ hasText: "Somebody else has signed in" }).waitFor();
    await signOut(page).filter({ hasText: "cyd" }).waitFor();
    const refused = (await console.program.post(`${pinsName}/List`)).body;
    await add.click();
    await page.getByText("The pin hold-one is added").waitFor();

    expect(refused["pins"]).toEqual([]);
    const added = (await console.program.post(`${pinsName}/List`)).body;
    expect(added["pins"]).toEqual([expect.objectContaining({ id: "hold-one", added_by: "cyd" })]);
  });
});
