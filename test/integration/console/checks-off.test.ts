/** A check that is off, in a whole program without `monitor.key`: everything that shows it names the setting. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runVedette } from "../../support/program/command.ts";
import {
  type ConsoleProgram,
  heading,
  startConsoleProgram,
} from "../../support/program/console-browser.ts";
import { hasBrowser } from "../../support/servers/browser.ts";
import { waitFor } from "../../support/wait-for.ts";

const image = "registry.example.com/vedette/sentinel:v2";

let console: ConsoleProgram;

beforeAll(async () => {
  console = await startConsoleProgram({ size: 4, behave: () => ({ readyAfterMs: 20 }) });
});

afterAll(() => console.stop());

const vedette = (...args: string[]) =>
  runVedette(args, { VEDETTE_DATA_DIR: console.program.dataDir });

const plan = (gate: string) => vedette("rollout", "plan", image, "--gate", gate);

describe("the command line", () => {
  it("lists the check with the setting to change", async () => {
    const { stdout } = await waitFor(
      async () => {
        const listed = await vedette("checks", "list");
        return listed.stdout.includes("off: set") && listed;
      },
      { withinMs: 30_000, what: "the check to be off" },
    );

    expect(stdout).toMatch(/verify-key +off .*off: set monitor\.key/);
    expect(stdout).not.toMatch(/(?:rate-limit|liveness) +.*off: set/);
  });

  it("says that no alert leaves the program yet, and why", async () => {
    const { stdout } = await vedette("checks", "list");

    expect(stdout).toMatch(/^No alert leaves this program yet: incident\.url is not set\. /);
    expect(stdout).toMatch(/liveness +.*alerts nobody/);
  });

  it("refuses the plan of a gate with it, in words", async () => {
    const { code, stderr } = await plan("verify-key,liveness");

    expect(code).toBe(1);
    expect(stderr).toContain("verify-key is off, and a gate with it would never open");
    expect(stderr).toContain("set monitor.key, or leave it out");
  });

  it("plans a gate with the checks that run without any setting", async () => {
    expect((await plan("liveness,rate-limit")).code).toBe(0);
  });
});

describe.skipIf(!hasBrowser)("the console", () => {
  it.each(["/checks", "/routes"])("says at %s that no alert leaves the program yet", async (at) => {
    const { page } = await console.open(at);

    await page.getByText("No alert leaves this program yet:").waitFor();
    await page.getByText("incident.url is not set").first().waitFor();
  });

  it("says in the table of routes who is paged once that is set up", async () => {
    const { page } = await console.open("/routes");
    const words = "nobody (incident.url is not set; later Engineering On-Call)";

    await page.getByRole("cell", { name: words }).first().waitFor();
  });

  it("names the setting in the list of checks, and on the page of the check", async () => {
    const { page } = await console.open("/checks");
    const row = page.getByRole("listitem").filter({ hasText: "Verify key" });

    await row.getByText("off: set monitor.key").waitFor();
    await row.getByRole("link", { name: "Verify key" }).click();

    await heading(page, "Verify key: Off");
    await page.getByText("It is off: set monitor.key.").waitFor();
  });

  it("does not offer it for the gate of a rollout, and says what to set", async () => {
    const { page } = await console.open();
    await page.getByRole("link", { name: "New rollout…" }).click();
    const off = page.getByRole("checkbox", { name: /Verify key/ });
    await off.waitFor();

    expect(await off.isDisabled()).toBe(true);
    expect(await page.getByRole("checkbox", { name: "Liveness" }).isEnabled()).toBe(true);
    await page.getByText("off: set monitor.key").waitFor();
  });
});
