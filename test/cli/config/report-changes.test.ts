import { expect, it } from "vitest";
import { describeChanges, describeWarnings } from "#cli/config/config.ts";

it("a plan names each row that would change, with its fields, and says what stays", () => {
  const text = describeChanges(
    {
      revision: 3,
      changes: [
        { section: "checks", key: "shop", kind: "change", fields: ["name", "url"] },
        { section: "heartbeats", key: "backup", kind: "leave" },
      ],
    },
    "plan",
  );

  expect(text).toMatch(/change +checks\.shop +name, url/);
  expect(text).toMatch(/leave +heartbeats\.backup/);
  expect(text).toContain("Against revision 3: 0 to add, 1 to change, 0 to remove.");
  expect(text).toContain("1 row of the program, which the file lacks: --prune removes them.");
});

it("warnings of one cause are one line, which names the first rows", () => {
  const warnings = Array.from({ length: 7 }, (_, i) => ({
    section: "heartbeats" as const,
    key: `job-${i}`,
    message: `has no ping URL: \`vedette heartbeats register job-${i}\` makes it`,
  }));

  const [line = "", ...others] = describeWarnings({ warnings });

  expect(others).toEqual([]);
  expect(line).toContain("heartbeats.job-0, heartbeats.job-1");
  expect(line).toContain(
    "and 2 more: has no ping URL: `vedette heartbeats register <id>` makes it",
  );
});

it("a warning of one row has its id", () => {
  const message = "has no ping URL: `vedette heartbeats register backup` makes it";

  expect(
    describeWarnings({ warnings: [{ section: "heartbeats", key: "backup", message }] }),
  ).toEqual([`warning: heartbeats.backup: ${message}`]);
});
