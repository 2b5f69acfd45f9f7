/** What somebody who is woken by a paused rollout is told of the failed sentinels: whether they serve. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runVedette } from "../../support/program/command.ts";
import {
  type ConsoleProgram,
  heading,
  startConsoleProgram,
} from "../../support/program/console-browser.ts";
import { hasBrowser } from "../../support/servers/browser.ts";

const image = "registry.example.com/vedette/sentinel:v3";
const crash = "crash_loop: exit code 1";

let console: ConsoleProgram;
const down: string[] = [];
let sentence = "";

/** Of six deploys three succeed, one fails and serves, and two fail and serve nothing. */
beforeAll(async () => {
  let deploys = 0;
  console = await startConsoleProgram({
    size: 8,
    behave: (id, name) => {
      if (name !== image) return { readyAfterMs: 0 };
      deploys += 1;
      if (deploys <= 3) return { readyAfterMs: 20 };
      if (deploys === 4) return { failAfterMs: 20, reason: crash, serves: "previous" };
      down.push(id);
      return { failAfterMs: 20, reason: crash, serves: "nothing" };
    },
  });
  const { body } = await console.program.call("Rollout", { image, wave_percentages: [75, 100] });
  sentence = (body as { standing: { text: string }[] }).standing.map(({ text }) => text).join(" ");
});

afterAll(() => console?.stop());

const command = (...args: string[]) =>
  runVedette([...args, "--url", console.program.endpoints().control], {
    INGRESS_TOKEN: console.program.token(),
  });

describe("a paused rollout with failed sentinels", () => {
  it("says in its answer which of them serve what, and which serve nothing", () => {
    expect(sentence).toMatch(
      /^3 of 8 run v3\. 1 failed and still serves v1\. 2 failed and serve nothing: gw-\d+, gw-\d+\. 2 run v1\.$/,
    );
    for (const id of down) expect(sentence).toContain(id);
  });

  it("says the same by the command line, and offers to put back the failed ones", async () => {
    const { stdout } = await command("rollout", "status");

    expect(stdout).toContain(`  now        ${sentence}`);
    expect(stdout).toContain("rollback --include-failed");
  });

  it("leaves a list of sentinels that is right at once", async () => {
    const { stdout } = await command("sentinels", "list", "--json");
    const { sentinels } = JSON.parse(stdout) as { sentinels: Record<string, string>[] };
    const failed = sentinels.filter(({ deploy_status }) => deploy_status === "failed");

    expect(failed.map(({ health, running_image }) => [health, running_image]).sort()).toEqual([
      ["healthy", "registry.example.com/vedette/sentinel:v1"],
      ["unhealthy", ""],
      ["unhealthy", ""],
    ]);
  });
});

describe.skipIf(!hasBrowser)("the page of a paused rollout", () => {
  it("has the sentence in its heading and its message, and those that are down in bold and in the tab", async () => {
    const { page } = await console.open();
    await heading(page, "Paused after wave 1: 3 sentinels failed, 2 of them serve nothing");

    await page.locator(".situation").getByText(sentence).waitFor();
    await page.locator(".messages, main").getByText(sentence).last().waitFor();
    expect(await page.locator(".situation strong").textContent()).toMatch(/^2 failed and serve/);
    await expect
      .poll(() => page.title(), { timeout: 20_000 })
      .toMatch(/^Paused: 2 failed and serve nothing · /);
  });

  it("asks to put back the failed ones too, and its sentence follows the box", async () => {
    const { page } = await console.open();
    await page.getByRole("button", { name: "Roll back…" }).click();
    const dialog = page.getByRole("dialog");
    const box = dialog.getByRole("checkbox");

    expect(await box.isChecked()).toBe(true);
    await dialog.getByText("Failed, and put back too: 3 sentinels.").waitFor();
    await dialog.getByRole("button", { name: "Roll back 6" }).waitFor();
    await box.uncheck();

    await dialog.getByText("Failed: 3 sentinels. They are not changed unless ticked.").waitFor();
    await dialog.getByRole("button", { name: "Roll back 3" }).waitFor();
  });
});
