/** The rows in docs/channels.md are valid. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { channelFields, DirectChannel } from "#alerts/rows/contract.ts";
import { ChannelRow } from "#definitions/rows/fields.ts";
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

it("definitions have a row for each kind of channel that alerts have", () => {
  const kindsOf = ({ options }: { options: readonly { shape: { kind: { value: string } } }[] }) =>
    options.map(({ shape }) => shape.kind.value).toSorted();

  expect(kindsOf(ChannelRow)).toEqual([...Object.keys(channelFields), "incident"].toSorted());
  expect(kindsOf(DirectChannel)).toEqual(Object.keys(channelFields).toSorted());
});
