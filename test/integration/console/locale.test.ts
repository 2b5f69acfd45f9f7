/** Numbers, times and axes in browsers of other locales. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type ConsoleProgram,
  heading,
  startConsoleProgram,
} from "../../support/program/console-browser.ts";
import { hasBrowser } from "../../support/servers/browser.ts";
import { waitFor } from "../../support/wait-for.ts";

let console: ConsoleProgram;
let rolloutId: string;

beforeAll(async () => {
  if (!hasBrowser) return;
  console = await startConsoleProgram({ size: 3, behave: () => ({ readyAfterMs: 1_500 }) });
  const image = "registry.example.com/vedette/sentinel:v2";
  const { body } = await console.program.call("Rollout", { image, wave_percentages: [100] });
  rolloutId = String(body["rollout_id"]);
  await waitFor(async () => (await console.program.call("Status")).body["state"] === "completed", {
    withinMs: 60_000,
    what: "the rollout to be completed",
  });
});

afterAll(() => console?.stop());

/** In which it is about noon, so that a time of this test is one of today. */
const timeZoneId = zoneAtNoon(new Date().getUTCHours());

/** The names of these zones have the sign of the opposite direction. */
function zoneAtNoon(hourInUtc: number): string {
  const shift = 12 - hourInUtc;
  return `Etc/GMT${shift > 0 ? "-" : "+"}${Math.abs(shift)}`;
}

/** Notes what is written on canvases from now on. */
async function noteLabels(page: Page): Promise<() => Promise<string[]>> {
  await page.addInitScript(`
    globalThis.labelsSeen = [];
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (...words) {
      labelsSeen.push(words[0]);
      fillText.apply(this, words);
    };
  `);
  return () => page.evaluate("labelsSeen") as Promise<string[]>;
}

describe.skipIf(!hasBrowser)("in the locale", () => {
  it.each([
    ["en-US", /^\d{1,2}:\d\d:\d\d\s(?:AM|PM)$/, /GMT|UTC/],
    ["de-DE", /^\d\d:\d\d:\d\d$/, /GMT|UTC/],
    ["ar-EG", /^\u2068[٠-٩]{1,2}:[٠-٩]{2}:[٠-٩]{2}\s[صم]\u2069$/, /[٠-٩]{4}/],
    ["fa-IR", /^\u2068?[۰-۹]{1,2}:[۰-۹]{2}:[۰-۹]{2}\u2069?$/, /[۰-۹]{4}/],
  ])(
    "%s times of today are its clock, and exact ones have the zone",
    async (locale, clock, exact) => {
      const { page, complaints } = await console.open("/history", {
        locale,
        timezoneId: timeZoneId,
      });
      const started = page.getByRole("cell").locator("time").first();
      await started.waitFor();

      const shown = await started.textContent();
      const title = await started.getAttribute("title");

      expect(shown).toMatch(clock);
      expect(title).toMatch(exact);
      expect(await started.getAttribute("datetime")).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
      expect(complaints.filter((line) => !line.includes("401"))).toEqual([]);
    },
  );

  it.each([
    ["en-US", ["0", "1", "2", "3"]],
    ["ar-EG", ["٠", "١", "٢", "٣"]],
  ])("%s an axis of few sentinels has whole numbers, each once", async (locale, wanted) => {
    const { page, address } = await console.open("", { locale, timezoneId: timeZoneId });
    const labels = await noteLabels(page);

    await page.goto(`${address}/history/${rolloutId}/${rolloutId}`);
    await page.getByText("After").waitFor();
    const counts = (await labels()).filter((label) => /^\p{Nd}+([.,٫]\p{Nd}+)?$/u.test(label));

    expect([...new Set(counts)].sort()).toEqual(wanted);
  });

  it("de-DE a time axis has no American clock", async () => {
    const { page, address } = await console.open("", { locale: "de-DE", timezoneId: timeZoneId });
    const labels = await noteLabels(page);

    await page.goto(`${address}/checks/liveness?hours=3`);
    await page.getByRole("img", { name: /^Response times of Liveness/ }).waitFor();
    await heading(page, /^Liveness/);
    const clocks = (await labels()).filter((label) => label.includes(":"));

    expect(clocks.length).toBeGreaterThan(3);
    expect(clocks.filter((label) => !/^\d\d:\d\d$/.test(label))).toEqual([]);
  });
});
