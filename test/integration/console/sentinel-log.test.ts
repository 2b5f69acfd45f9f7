/** The end of a sentinel's log in its details, by keys, for whoever may read it. */
import { createHash } from "node:crypto";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type ConsoleProgram,
  findBarriers,
  startConsoleProgram,
} from "../../support/program/console-browser.ts";
import { hasBrowser, openPage } from "../../support/servers/browser.ts";
import { waitFor } from "../../support/wait-for.ts";

const image = "registry.example.com/vedette/sentinel:v2";
const readToken = "token-of-rita";

const log = Array.from({ length: 60 }, (_, n) => `line ${n}`);

let console: ConsoleProgram;

/** After a rollout that has failed for all of three sentinels. */
beforeAll(async () => {
  if (!hasBrowser) return;
  console = await startConsoleProgram(
    {
      size: 3,
      behave: () => ({ failAfterMs: 20, reason: "crash_loop: exit code 3" }),
      readLog: () => `${log.join("\n")}\nno database: password=hunter2\n`,
    },
    {
      VEDETTE_CONTROL__OPERATORS__RITA__TOKEN: createHash("sha256").update(readToken).digest("hex"),
      VEDETTE_CONTROL__OPERATORS__RITA__ROLES: "read",
    },
  );
  await console.program.call("Rollout", { image, wave_percentages: [100] });
});

afterAll(() => console?.stop());

/** The details of the only sentinel of its region. */
async function openDetails(page: Page) {
  await page.getByRole("application", { name: /^ap: / }).press("Enter");
  return page.getByRole("region", { name: "Sentinel gw-0002" });
}

describe.skipIf(!hasBrowser)("the log of a failed sentinel", () => {
  it("is in its details, from its end on, without what looks like a secret", async () => {
    const { page } = await console.open();
    const panel = await openDetails(page);
    const lines = panel.getByRole("region", { name: "Log of the failed deploy of gw-0002" });
    await lines.waitFor();

    const text = (await lines.textContent()) ?? "";
    const caption = await panel.getByText(/^The last 61 lines of sentinel:v2, read /).count();
    const isAtEnd = await lines.evaluate(
      (block) =>
        block.scrollTop > 0 && block.scrollTop + block.clientHeight >= block.scrollHeight - 1,
    );
    const barriers = await findBarriers(page);

    expect([caption, isAtEnd]).toEqual([1, true]);
    expect(text).toBe(`${log.join("\n")}\nno database: password=***`);
    expect(barriers).toEqual([]);
  });

  it("is scrolled by keys and copied by a button", async () => {
    const { page } = await console.open();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const panel = await openDetails(page);
    const lines = panel.getByRole("region", { name: "Log of the failed deploy of gw-0002" });

    await lines.press("Home");
    const isAtStart = () => lines.evaluate((block) => block.scrollTop === 0);
    await waitFor(isAtStart, { withinMs: 10_000, what: "the first lines" });
    await panel.getByRole("button", { name: "Copy" }).press("Enter");
    await panel.getByRole("button", { name: "Copied" }).waitFor();

    const copied = await page.evaluate("navigator.clipboard.readText()");
    expect(copied).toMatch(/^line 0\nline 1\n.*password=\*\*\*$/s);
  });

  it("is told from that of what runs, which says so when it could not be read again", async () => {
    const { page } = await console.open("/fleet/gw-0002");
    await page.getByRole("region", { name: "Log of gw-0002", exact: true }).waitFor();
    await page.getByRole("region", { name: "Log of the failed deploy of gw-0002" }).waitFor();
    await page.route("**/vedette.v1.FleetService/Log*", (route) => route.abort());

    await page.getByRole("button", { name: "Read again" }).click();

    await page.getByText(/^Not read again: .*does not answer/).waitFor();
    expect(await page.getByRole("region", { name: /^Log of / }).count()).toBe(2);
  });

  it("is not for an operator who may only read, neither on the page nor behind it", async () => {
    const { page } = await openPage();
    await page.goto(`${console.program.endpoints().control}/console`);
    await page.getByLabel("Token").fill(readToken);
    await page.keyboard.press("Enter");
    const panel = await openDetails(page);
    await panel.getByText("A log may be read with the role operate.").waitFor();

    const body = { sentinel: "gw-0002" };
    const answer = await console.program.post("vedette.v1.FleetService/Log", body, readToken);

    expect(await panel.getByRole("region").count()).toBe(0);
    expect([answer.status, answer.body["code"]]).toEqual([403, "forbidden"]);
  });
});
