import { expect, it } from "vitest";
import { simulateAlert } from "#routing/commands.ts";
import { standardRows } from "../support/monitor/standard-definitions.ts";

const [source] = standardRows.sources;

it("a label that the source does not have is hinted at with the one that was meant", () => {
  const name = source?.name ?? "";
  const [label = ""] = Object.keys(source?.labels ?? {});
  const mistyped = `${label}x`;

  const { hints } = simulateAlert(standardRows, {
    source: name,
    labels: { [mistyped]: "critical" },
  });

  expect(hints).toEqual([`${mistyped} of ${name}: did you mean ${label}?`]);
});
