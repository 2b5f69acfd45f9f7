/** Rows of the audit log as lines of syslog. */
import { expect, it } from "vitest";
import type { SealedRow } from "#audit/chain.ts";
import { toLine } from "#audit/deliver.ts";

const row: SealedRow = {
  ...{ cursor: 7, hash: "ab".repeat(32), id: "log_1", time: "2026-11-29T10:00:00.123456Z" },
  ...{ event: "pin.add", description: "Größe", actor: { type: "operator", id: "ada" } },
  ...{ workspace_id: null, remote_ip: null, user_agent: null, request_id: null },
  ...{ targets: [], meta: null },
};

it("a line has the row as JSON in ASCII, its time to the millisecond, and its place as data", () => {
  const line = toLine(row);

  expect(line).toMatchObject({
    ...{ facility: "audit", severity: "notice", event: "pin.add" },
    atMs: Date.parse("2026-11-29T10:00:00.123Z"),
    data: { seq: "7", hash: row.hash, actor: "ada" },
  });
  expect(line.text).toContain("Gr\\u00f6\\u00dfe");
  expect(JSON.parse(line.text)).toEqual(row);
});

it.each(["call.refused", "session.refused"])("a line of %s is a warning", (event) => {
  expect(toLine({ ...row, event }).severity).toBe("warning");
});

it.each([
  { long: { meta: { text: "x".repeat(7_000) } }, omitted: ["meta"] },
  { long: { targets: ["x".repeat(7_000)] }, omitted: ["meta", "targets"] },
  { long: { user_agent: "ü".repeat(1_500) }, omitted: ["meta", "targets", "user_agent"] },
  {
    long: { description: "ü".repeat(1_500) },
    omitted: ["meta", "targets", "user_agent", "description"],
  },
])("a line that would be too long leaves out $omitted, and says so", ({ long, omitted }) => {
  const { text } = toLine({ ...row, ...long });

  expect(text.length).toBeLessThan(6_800);
  const left = Object.fromEntries(Object.entries(row).filter(([name]) => !omitted.includes(name)));
  expect(JSON.parse(text)).toEqual({ ...left, omitted });
});
