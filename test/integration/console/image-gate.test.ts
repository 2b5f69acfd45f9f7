/** What shows that an image has passed CI, in the console: the plan of one that is refused, and a rollout's page. */
import { describe, expect, it, onTestFinished } from "vitest";
import { startGate } from "../../support/ci/gate.ts";
import {
  findBarriers,
  heading,
  startConsoleProgram,
} from "../../support/program/console-browser.ts";
import { hasBrowser } from "../../support/servers/browser.ts";
import { hasPrograms } from "../../support/servers/programs.ts";

describe.skipIf(!hasBrowser || !hasPrograms("docker-registry"))("the evidence of an image", () => {
  it("keeps a refused image from being started, and is on the page of a rollout", async () => {
    const gate = await startGate();
    const fleet = { size: 4, behave: () => ({ readyAfterMs: 20 }) };
    const console = await startConsoleProgram(fleet, {
      ...gate.environment,
      VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "true",
    });
    onTestFinished(() => console.stop());
    const { image, digest } = await gate.push("v2");
    gate.report("v2", "failure");
    const { page } = await console.open();

    await page.getByRole("link", { name: "New rollout…" }).click();
    await page.getByLabel("Image").fill(image);
    await page.keyboard.press("Enter");
    const refused = page.getByRole("region", { name: "CI" });
    await refused.getByText("This image is refused").waitFor();
    const refusedWords = await refused.textContent();
    const startButton = page.getByRole("button", { name: "Start this rollout…" });
    const isRefusedStartable = await startButton.isEnabled();
    const barriers = await findBarriers(page);

    gate.report("v2", "success");
    await gate.sign(digest);
    await page.getByRole("button", { name: "Show the plan" }).click();
    await refused.getByText("Commit passed").waitFor();
    const provenWords = await refused.textContent();
    await startButton.press("Enter");
    await page.getByRole("button", { name: "Start the rollout" }).press("Enter");
    await heading(page, "Completed");
    const panel = page.getByRole("region", { name: "CI" });
    const link = panel.getByRole("link", { name: /commit/i }).first();
    const href = await link.getAttribute("href");

    expect(refusedWords).toMatch(/Commit failed: commit .* failed: build/);
    expect(refusedWords).toContain("Signature missing");
    expect(refusedWords).toContain("Labels passed");
    expect(isRefusedStartable).toBe(false);
    expect(barriers).toEqual([]);
    expect(provenWords).not.toContain("This image is refused");
    expect(await panel.textContent()).toContain("Provenance passed");
    expect(href).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/acme\/gateway\/commit\//);
    expect(await findBarriers(page)).toEqual([]);
  });
});
