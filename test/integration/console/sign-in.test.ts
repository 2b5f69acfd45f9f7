/** Signing in at a real identity provider, in a browser, by clicks and keys. */
import { createHash } from "node:crypto";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../support/free-port.ts";
import {
  type ConsoleProgram,
  findBarriers,
  heading,
  start,
  startConsoleProgram,
} from "../../support/program/console-browser.ts";
import { hasBrowser, openPage } from "../../support/servers/browser.ts";
import {
  type IdentityProvider,
  startIdentityProvider,
} from "../../support/servers/identity-provider.ts";

const image = (version: string) => `registry.example.com/vedette/sentinel:${version}`;

const verified = (email: string, ...groups: string[]) => ({ email, email_verified: true, groups });

const people = {
  ada: verified("ada@example.com"),
  ben: verified("ben@example.com", "leads"),
  nobody: verified("nobody@example.com", "others"),
};

const adasToken = "token-of-ada";

let identity: IdentityProvider;
let port: number;
let console: ConsoleProgram;

beforeAll(async () => {
  if (!hasBrowser) return;
  port = await freePort();
  identity = await startIdentityProvider({ people, port });
  const fleet = { size: 10, behave: () => ({ readyAfterMs: 20 }) };
  console = await startConsoleProgram(fleet, {
    ...identity.environment,
    VEDETTE_CONTROL__OIDC__ROLES: "leads=approve",
    VEDETTE_CONTROL__OPERATORS__ADA__SIGN_IN: "ada@example.com",
    VEDETTE_CONTROL__OPERATORS__ADA__TOKEN: createHash("sha256").update(adasToken).digest("hex"),
    VEDETTE_CONTROL__OPERATORS__ADA__ROLES: "read,operate,approve",
  });
});

afterAll(async () => {
  await console?.stop();
  await identity?.stop();
});

const providerButton = (page: Page) =>
  page.getByRole("button", { name: `Sign in with ${identity.host}` });

const addressOf = (path = "") => `${console.program.endpoints().control}/console${path}`;

/** Until the pages of the console are there, or the sign-in page again. */
async function signInAs(page: Page, login: string, path = ""): Promise<void> {
  await page.goto(addressOf(path));
  await providerButton(page).click();
  await page.getByLabel("Login").fill(login);
  await page.keyboard.press("Enter");
}

async function openAs(login: string, path = "") {
  const opened = await openPage();
  await signInAs(opened.page, login, path);
  await opened.page.getByRole("navigation", { name: "Pages" }).waitFor();
  return opened;
}

const session = (page: Page) => page.getByRole("button", { name: /Sign out/ });

describe.skipIf(!hasBrowser)("signing in at the identity provider", () => {
  it("is done by keys alone, and returns to the page that was asked for", async () => {
    const { page, complaints, requests } = await openPage();
    await page.goto(addressOf("/windows?from=a-link"));
    await providerButton(page).waitFor();
    const focused = await page.evaluate("document.activeElement.textContent");
    await page.keyboard.press("Enter");
    await page.getByLabel("Login").waitFor();
    await page.keyboard.type("ben");
    await page.keyboard.press("Enter");
    await heading(page, "Windows");

    const cookies = await page.context().cookies(addressOf("/api/sign-in"));
    const own = cookies.filter(({ name }) => name.startsWith("vedette_"));

    expect(focused).toBe(`Sign in with ${identity.host}`);
    expect(page.url()).toBe(addressOf("/windows?from=a-link"));
    expect(await session(page).textContent()).toContain("ben@example.com");
    expect(own).toEqual([
      expect.objectContaining({ name: "vedette_session", httpOnly: true, sameSite: "Strict" }),
    ]);
    // The page asks whether there is a session, and there is none at first.
    expect(complaints.filter((text) => !text.includes("401"))).toEqual([]);
    const hosts = new Set(requests.map((url) => new URL(url).host));
    expect([...hosts].toSorted()).toEqual([identity.host, new URL(addressOf()).host].toSorted());
    expect(console.program.output()).toMatch(
      /"actor":"ben@example\.com".*"how":"console".*signed in/,
    );
  });

  it("of a linked operator is in that operator's name", async () => {
    const { page } = await openAs("ada");

    expect(await session(page).textContent()).toContain("ada");
    expect(await session(page).textContent()).not.toContain("@");
  });

  it("says on the sign-in page who has no role, and why", async () => {
    const { page } = await openPage();
    await signInAs(page, "nobody", "/pins");

    const alert = page
      .getByRole("alert")
      .filter({ hasText: "nobody@example.com has no role here" });
    await alert.waitFor();

    expect(page.url()).toBe(addressOf("/pins"));
    expect(await alert.textContent()).toContain("control.oidc.roles");
    await page.reload();
    await providerButton(page).waitFor();
    expect(await alert.count()).toBe(0);
  });

  it("says so when the person has refused at the provider", async () => {
    const { page } = await openPage();
    await page.goto(addressOf());
    await providerButton(page).click();
    await page.getByRole("button", { name: "Refuse" }).click();

    await page.getByRole("alert").filter({ hasText: "did not sign you in" }).waitFor();
  });

  it.each(["light", "dark"] as const)("has no barriers in the %s theme", async (colorScheme) => {
    const { page } = await openPage();
    await page.emulateMedia({ colorScheme });
    await signInAs(page, "nobody");
    await page.getByRole("alert").filter({ hasText: "no role" }).waitFor();
    await page.setViewportSize({ width: 360, height: 700 });

    expect(await findBarriers(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(360);
  });

  it("is no use twice: the way back is taken once", async () => {
    const { page } = await openPage();
    const backs: string[] = [];
    page.on("request", (request) => {
      if (request.url().includes("/callback?")) backs.push(request.url());
    });
    await signInAs(page, "ben");
    await session(page).click();
    await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
    await providerButton(page).waitFor();

    await page.goto(backs[0] ?? "");

    await providerButton(page).waitFor();
    expect(await session(page).count()).toBe(0);
  });

  it("makes no token of the console's session", async () => {
    const { page } = await openAs("ben");
    const cookies = await page.context().cookies(addressOf());
    const cookie = cookies.find(({ name }) => name === "vedette_session")?.value ?? "";

    const status = await console.program.callAs(cookie, "Status");

    expect(status.status).toBe(401);
  });
});

describe.skipIf(!hasBrowser)("a session of somebody who has signed in", () => {
  it("lasts over a restart, and while the provider is away, which the sign-in page then says", async () => {
    const { page } = await openAs("ben");
    await identity.stop();
    await console.program.stop();
    await console.program.start();

    await page.goto(addressOf("/pins"));
    await heading(page, "Pins");
    const { page: other } = await openPage();
    await other.goto(addressOf());
    await providerButton(other).click();
    await other.getByRole("alert").filter({ hasText: "is not possible now" }).waitFor();
    const focused = await other.evaluate("document.activeElement.textContent");
    identity = await startIdentityProvider({ people, port });
    await other.keyboard.press("Enter");
    await other.getByLabel("Login").waitFor();

    expect(focused).toBe(`Sign in with ${identity.host}`);
  });
});

describe.skipIf(!hasBrowser)(
  "a rollout with approvals that somebody has started who signed in",
  () => {
    it("is not approved by her own token, but by another person who signed in", async () => {
      const { page: ada } = await openAs("ada");
      await start(ada, image("v2"), "50, 100", async () => {
        await ada.getByLabel("Approvals").selectOption({ label: "All after the first" });
      });
      await heading(ada, "Waiting for an approval of wave 2 of 2");
      await ada.getByText("You started this rollout: another operator has to").waitFor();

      const own = await console.program.callAs(adasToken, "Approve", { reason: "it is mine" });
      const { page: ben } = await openAs("ben");
      await ben.getByRole("button", { name: "Approve…" }).click();
      await ben.getByRole("button", { name: "Approve wave 2" }).click();
      await heading(ben, "Completed");

      expect([own.status, own.body["code"]]).toEqual([403, "not_an_approver"]);
      await ada.getByText("ben@example.com approved wave 2").waitFor();
    });
  },
);
