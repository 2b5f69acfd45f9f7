/** Gates as rows: what the other rows have to have for them. */
import { describe, expect, it } from "vitest";
import { CheckRow } from "#definitions/rows/check.ts";
import { type DefinitionSet, emptySet } from "#definitions/rows/contract.ts";
import { ChannelRow } from "#definitions/rows/fields.ts";
import { lintSet } from "#definitions/rules/lint.ts";
import { GateRow } from "#rollout/gates/contract.ts";

const channels = [
  { id: "load-test", kind: "webhook", url: "https://load.example.com/gate" },
  { id: "chat", kind: "slack", url: "{{SLACK_URL}}" },
].map((row) => ChannelRow.parse(row));
const checks = [CheckRow.parse({ id: "liveness", path: "/v2/liveness" })];

const faultsOf = (rows: object[], more: Partial<DefinitionSet> = { checks, channels }) =>
  lintSet({ ...emptySet, ...more, gates: rows.map((row) => GateRow.parse(row)) }).map(
    ({ key, field, message }) => `${[key, ...(field ?? [])].join(".")}: ${message}`,
  );

const pause = { kind: "pause", id: "sign-off" };

describe("the gates of the definitions", () => {
  it("name checks and webhooks that are there", () => {
    const rows = [
      { id: "checked", kind: "checks", checks: ["liveness"] },
      { id: "asked", kind: "webhook", channel: "load-test" },
      pause,
    ];

    expect(faultsOf(rows)).toEqual([]);
  });

  it.each([
    [{ id: "a", kind: "checks", checks: ["liveness", "livenes"] }, "a.checks.1", "no such check"],
    [{ id: "a", kind: "webhook", channel: "chat" }, "a.channel", "no such channel of the kind"],
  ])("are a fault if they name another: %j", (row, where, words) => {
    expect(faultsOf([row])).toEqual([expect.stringContaining(`${where}: there is ${words}`)]);
    expect(faultsOf([row], {})).not.toEqual([]);
  });

  it("have different ids", () => {
    expect(faultsOf([pause, pause])).toEqual(["sign-off: is there twice"]);
  });

  it("are ten at most of those that are default: a rollout has no more", () => {
    const rows = Array.from({ length: 11 }, (_, i) => ({ ...pause, id: `${i}`, default: true }));

    expect(faultsOf(rows.slice(1))).toEqual([]);
    expect(faultsOf(rows)).toEqual([expect.stringContaining("10.default: a rollout has 10 gates")]);
  });
});
