/** docs/tutorial.md as a test follows it, at ports that are free. */
import { readFileSync } from "node:fs";
import getPort from "get-port";
import { type Step, stepsOf } from "./walkthrough.ts";

export function readTutorial(): Step[] {
  return stepsOf(readFileSync("docs/tutorial.md", "utf8"));
}

/** The text of the file that the page shows; the last one of this name. */
export function fileOf(steps: readonly Step[], name: string): string {
  const found = steps.findLast((step) => step.kind === "write" && step.file === name);
  if (found?.kind !== "write") throw new Error(`docs/tutorial.md shows no ${name}`);
  return found.text;
}

/** Puts free ports in the place of the page's: four in a row of the shop, and one of the fleet. */
export async function takePorts(): Promise<{ put: (text: string) => string; fleet: number }> {
  const shop = await firstOfFour();
  const fleet = await getPort({ host: "127.0.0.1", exclude: [0, 1, 2, 3].map((at) => shop + at) });
  const put = (text: string) =>
    text
      .replace(/\b400([1-4])\b/g, (_, nth) => String(shop + Number(nth) - 1))
      .replace(/\b4100\b/g, String(fleet));
  return { put, fleet };
}

async function firstOfFour(): Promise<number> {
  const first = 12_000 + Math.floor(Math.random() * 5_000) * 4;
  for (const port of [first, first + 1, first + 2, first + 3])
    if ((await getPort({ host: "127.0.0.1", port })) !== port) return firstOfFour();
  return first;
}
