/** The rows in docs/channels.md are valid. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { channelFields } from "#alerts/rows/contract.ts";
import { faultsOf } from "../support/definitions/definition-files.ts";

const page = readFileSync("docs/channels.md", "utf8");
const rows = [...page.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => text);

it.each(rows)("%s", async (text) => {
  expect(await faultsOf({ "vedette.config.yaml": text })).toEqual([]);
});

it.each([...Object.keys(channelFields), "incident"])(
  "the page has a row and a section of %s",
  (kind) => {
    expect(rows.some((text) => text.includes(`kind: ${kind}`))).toBe(true);
    expect(page).toContain(`\n## ${kind}\n`);
  },
);
