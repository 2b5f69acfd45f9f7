/** A rollout's past, moved through by keys, buttons and addresses. */
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type ConsoleProgram,
  findBarriers,
  startConsoleProgram,
} from "../../support/program/console-browser.ts";
import { hasBrowser } from "../../support/servers/browser.ts";
import { waitFor } from "../../support/wait-for.ts";

const image = (version: string) => `registry.example.com/vedette/sentinel:${version}`;

let console: ConsoleProgram;
let id: string;

/** Of twenty sentinels one fails; the others are rolled back. */
beforeAll(async () => {
  if (!hasBrowser) return;
  console = await startConsoleProgram({
    size: 20,
    behave: (sentinel, name) =>
      name.endsWith(":v2") && sentinel === "gw-0005"
        ? { failAfterMs: 300, reason: "crash_loop: exit status 1" }
        : { readyAfterMs: 300 },
  });
  const { body } = await console.program.call("Rollout", {
    image: image("v2"),
    wave_percentages: [100],
    gate: { checks: ["rate-limit"] },
  });
  await console.program.call("RollbackAll", {});
  id = String(body["rollout_id"]);
});

afterAll(() => console?.stop());

const slider = (page: Page) => page.getByRole("slider", { name: "Time" });

/** "New image 19, Failed 1", as the legend has it, without what there is none of. */
async function legend(page: Page): Promise<string> {
  const items = await page.getByRole("region", { name: "What ran" }).getByRole("listitem").all();
  const texts = await Promise.all(items.map((item) => item.textContent()));
  return texts
    .map((text) => (text ?? "").trim())
    .filter((text) => !text.endsWith(" 0"))
    .join(", ");
}

async function waitForLegend(page: Page, wanted: string): Promise<void> {
  await waitFor(async () => (await legend(page)) === wanted, {
    withinMs: 20_000,
    what: `the legend to be ${wanted}`,
  });
}

describe.skipIf(!hasBrowser)("the past of a rollout", () => {
  it("begins at its end, and goes back to its start by keys, with the grid", async () => {
    const { page } = await console.open(`/history/${id}`);
    await waitForLegend(page, "Failed 1, Reverted 19");
    const fleet = page.getByRole("region", { name: "Fleet" });
    await fleet.getByText("Reverted 19").waitFor();

    await slider(page).focus();
    await page.keyboard.press("Home");

    await waitForLegend(page, "Previous image 20");
    await fleet.getByText("Not deployed 20").waitFor();
    expect(await slider(page).getAttribute("aria-valuetext")).toMatch(
      /before the start: previous image 20$/,
    );
    await page.keyboard.press("End");
    await waitForLegend(page, "Failed 1, Reverted 19");
  });

  it("shows when the new image ran, at the event before the rollback, at an address of its own", async () => {
    const { page } = await console.open(`/history/${id}`);
    await waitForLegend(page, "Failed 1, Reverted 19");
    const what = page.getByRole("region", { name: "What ran" });

    while (!(await what.getByText("Rollout paused").isVisible())) {
      await what.getByRole("button", { name: "Event before" }).click();
    }
    await waitForLegend(page, "New image 19, Failed 1");
    await page.waitForURL(/[?&]at=/);
    await page.reload();

    await waitForLegend(page, "New image 19, Failed 1");
  });

  it("has the response times of the gate's check first, and those of others at an address", async () => {
    const { page } = await console.open(`/history/${id}`);
    const checks = page.getByRole("combobox", { name: "Check" });
    await checks.waitFor();

    expect(await checks.inputValue()).toBe("rate-limit");
    await checks.selectOption("liveness");
    await waitFor(() => new URL(page.url()).searchParams.get("check") === "liveness", {
      withinMs: 20_000,
      what: "the check to be in the address",
    });
    expect(await checks.inputValue()).toBe("liveness");
    const panel = page.getByRole("region", { name: "Response time" });
    await expect
      .poll(() => panel.textContent(), { timeout: 30_000 })
      .toMatch(/There are no results of Liveness|p95/);
  });

  it("is replayed against a policy that is pasted, whose faults are said", async () => {
    const { page } = await console.open(`/history/${id}`);
    const panel = page.getByRole("region", { name: "Would this policy have stopped it?" });
    const policy = panel.getByRole("textbox", { name: "Policy, as JSON" });
    const replay = async (text: string) => {
      await policy.fill(text);
      await panel.getByRole("button", { name: "Try this policy" }).click();
    };

    await replay('{"max_failed": {"in_all": 1}}');
    await panel.getByText("It would have completed in wave 1 of 1").waitFor();
    await panel.getByText("20 sentinels ordered to run the image, 0 fewer than really").waitFor();
    await replay("{}");
    await panel.getByText("It would have paused in wave 1 of 1").waitFor();
    await replay('{"max_fail": 1}');
    await panel.getByText("did you mean max_failed?").waitFor();
    await replay("no");
    await panel.getByText("This is no JSON object.").waitFor();
    expect(await findBarriers(page)).toEqual([]);
  });

  it("is downloaded as a signed proof, by who may read", async () => {
    const { page } = await console.open(`/history/${id}`);
    const downloaded = page.waitForEvent("download");

    await page.getByRole("button", { name: "Download the proof" }).click();

    const download = await downloaded;
    expect(download.suggestedFilename()).toBe(`proof-${id}.json`);
    const envelope = JSON.parse(readFileSync(await download.path(), "utf8"));
    const statement = JSON.parse(Buffer.from(envelope.payload, "base64").toString());
    expect(statement.predicate).toMatchObject({ rollout_id: id, outcome: "rolled_back" });
  });

  it("is played from its start to its end, unless it is stopped", async () => {
    const { page } = await console.open(`/history/${id}`);
    await waitForLegend(page, "Failed 1, Reverted 19");
    const place = async () => Number(await slider(page).inputValue());

    await page.getByRole("button", { name: "Play" }).click();
    await waitForLegend(page, "Previous image 20");
    await page.getByRole("button", { name: "Stop" }).click();
    const stopped = await place();
    await page.getByRole("button", { name: "Play" }).click();
    await waitForLegend(page, "Failed 1, Reverted 19");

    await page.getByRole("button", { name: "Play" }).waitFor();
    expect(await place()).toBeGreaterThan(stopped);
  });

  it("is opened at its start from History, and at the deploy from the page of a sentinel", async () => {
    const { page } = await console.open("/history");
    await page.locator("td[data-name=Started] a").first().click();
    await waitForLegend(page, "Previous image 20");

    await page.goto(`${console.program.endpoints().control}/console/fleet/gw-0005`);
    const deploys = page.getByRole("region", { name: "Deploys" });
    await deploys.locator("td[data-name=When] a").click();
    await waitFor(async () => / ?Failed 1/.test(await legend(page)), {
      withinMs: 20_000,
      what: "the moment of the failure",
    });

    expect(await slider(page).count()).toBe(1);
  });

  it.each(["Light", "Dark"])("has no barriers in the %s theme, at any time", async (theme) => {
    const { page } = await console.open(`/history/${id}`);
    await page.getByLabel("Colours").selectOption({ label: theme });
    await waitForLegend(page, "Failed 1, Reverted 19");
    await slider(page).focus();
    await page.keyboard.press("Home");
    await waitForLegend(page, "Previous image 20");

    expect(await findBarriers(page)).toEqual([]);
  });
});
