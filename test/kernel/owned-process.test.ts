import { expect, it } from "vitest";
import { invariant } from "#kernel/invariant.ts";
import { identifyProcess, isAlive } from "#kernel/owned-process.ts";

function identifySelf() {
  const self = identifyProcess(process.pid);
  invariant(self !== undefined, "this process runs");
  return self;
}

it("a process is itself by pid, start and the machine's own start", () => {
  expect(isAlive(identifySelf())).toBe(true);
});

it("a process that an earlier version wrote down is known by pid and start", () => {
  const { pid, startedAt } = identifySelf();

  expect(isAlive({ pid, startedAt })).toBe(true);
});

it("a process of another machine, or of before a restart, is nobody here", () => {
  expect(isAlive({ ...identifySelf(), bootId: "another" })).toBe(false);
});

it("a process that started at another time is somebody else", () => {
  expect(isAlive({ ...identifySelf(), startedAt: "1" })).toBe(false);
});
