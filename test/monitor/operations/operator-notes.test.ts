import { expect, it } from "vitest";
import { operatorHandlers } from "#monitor/operations/contract.ts";

const { Acknowledge, Maintenance } = operatorHandlers;
const times = { from: "2026-01-01T00:00:00Z", to: "2026-01-02T00:00:00Z" };
const reasonOf = (reason: string) => Maintenance.input.safeParse({ ...times, reason });

it("the text of an operator is stored without characters that cannot be stored or that reverse text", () => {
  expect(Acknowledge.input.parse({ by: " ada\0\u202e " })).toEqual({ by: "ada" });
  expect(reasonOf("up\u001b[31m\ud83e").data?.reason).toBe("up [31m\ufffd");
});

it.each([
  ["nothing", " \0 "],
  ["too much", "x".repeat(501)],
])("a reason of %s is refused", (_, reason) => {
  expect(reasonOf(reason).success).toBe(false);
});
