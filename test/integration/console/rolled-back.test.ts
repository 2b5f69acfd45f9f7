/** The morning after a rollout that was rolled back: who failed and why is still there. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runVedette } from "../../support/program/command.ts";
import { type ConsoleProgram, startConsoleProgram } from "../../support/program/console-browser.ts";
import { hasBrowser } from "../../support/servers/browser.ts";

const image = "registry.example.com/vedette/sentinel:v3";
const crash = "crash_loop: the container exited with 1";

let console: ConsoleProgram;
let failed = "";
let rolloutId = "";

/** The first wave is one sentinel, whose deploy takes more than a second; of the second one fails. */
beforeAll(async () => {
  let deploys = 0;
  console = await startConsoleProgram({
    size: 4,
    behave: (id, name) => {
      if (name !== image) return { readyAfterMs: 0 };
      deploys += 1;
      if (deploys !== 4) return { readyAfterMs: deploys === 1 ? 1_200 : 20 };
      failed = id;
      return { failAfterMs: 20, reason: crash, serves: "nothing" };
    },
  });
  const { body } = await console.program.call("Rollout", { image, wave_percentages: [25, 100] });
  rolloutId = (body as { rollout_id: string }).rollout_id;
  await console.program.call("RollbackAll", { include_failed: true });
});

afterAll(() => console?.stop());

it("the command line's history counts the failure, and not as done", async () => {
  const { stdout } = await runVedette(
    ["rollout", "history", "--url", console.program.endpoints().control],
    { INGRESS_TOKEN: console.program.token() },
  );

  expect(stdout).toMatch(/rolled back +\S+ +3\/4, 4 put back +1 /);
});

describe.skipIf(!hasBrowser)("the console, of a rollout that was rolled back", () => {
  it("keeps who failed and why in the panel Failures of its page", async () => {
    const { page } = await console.open(`/history/${rolloutId}`);
    const panel = page.getByRole("region", { name: "Failures" });

    await panel.getByText(crash).waitFor();
    await panel.getByRole("link", { name: failed }).waitFor();
  });

  it("counts the failure in History, and not as done", async () => {
    const { page } = await console.open("/history");
    const row = page.getByRole("row").filter({ hasText: "sentinel:v3" });

    await row.getByText("3 of 4, 4 put back").waitFor();
    expect(await row.locator('[data-name="Failed"]').textContent()).toBe("1");
  });

  it("keeps the failure in the sentinel's own list of deploys", async () => {
    const { page } = await console.open(`/fleet/${failed}`);

    await page
      .getByRole("region", { name: "Deploys" })
      .getByText(`Failed before: ${crash}`)
      .waitFor();
  });

  it("shows how long a wave took from its start to its end, also one of a single sentinel", async () => {
    const { page } = await console.open(`/history/${rolloutId}`);
    const wave = page.getByRole("listitem").filter({ hasText: "Wave 1" });

    await wave.getByText(/· [1-9]\d* s/).waitFor();
  });
});
