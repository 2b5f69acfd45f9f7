/** A rollout by digest alone, as build steps print it, to a fleet that knows images by their digest. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type ConsoleProgram,
  findBarriers,
  heading,
  startConsoleProgram,
} from "../../support/program/console-browser.ts";
import { hasBrowser } from "../../support/servers/browser.ts";

const built = `registry.example.com/vedette/sentinel@sha256:${"b".repeat(64)}`;
const short = "sentinel@sha256:bbbbbbbbbbbb";

let console: ConsoleProgram;

beforeAll(async () => {
  if (!hasBrowser) return;
  console = await startConsoleProgram({
    size: 6,
    behave: () => ({ readyAfterMs: 10 }),
    nameImage: (image) => `docker-pullable://${image.replace(/:v\d(?=@)/, "")}`,
  });
});

afterAll(() => console?.stop());

describe.skipIf(!hasBrowser)("an image by its digest alone", () => {
  it("is started by the form, and is whole where the pointer rests on it", async () => {
    const { page } = await console.open("/start");
    await page.getByRole("combobox", { name: "Image" }).fill(`${built} `);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Start this rollout…" }).press("Enter");
    await page.getByRole("button", { name: "Start the rollout" }).press("Enter");
    await heading(page, "Completed");

    const shown = page.getByTitle(built, { exact: true }).first();

    expect(await shown.textContent()).toBe(`registry.example.com/vedette/${short}`);
    expect(await page.title()).toContain(short);
    expect(await findBarriers(page)).toEqual([]);
  });

  it("runs as it was ordered, whatever its fleet calls it", async () => {
    const { page } = await console.open("/fleet/gw-0001");

    await page.getByText("Runs what was ordered").waitFor();

    const runs = await page
      .getByTitle(/^docker-pullable:/)
      .first()
      .textContent();
    expect(runs).toContain(short);
  });

  it("needs no deploy any more, by a tag of the digest either", async () => {
    const image = built.replace("@", ":v2@");

    const plans = [
      await console.program.call("Plan", { image: built }),
      await console.program.call("Plan", { image }),
    ];

    expect(plans.map(({ body }) => [body["total"], body["already_running"]])).toEqual([
      [0, 6],
      [0, 6],
    ]);
  });
});
