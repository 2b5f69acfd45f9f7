import { expect, it } from "vitest";
import { invariant } from "#kernel/invariant.ts";
import {
  identifyProcess,
  isAlive,
  type ProcessIdentity,
  signalProcess,
} from "#kernel/owned-process.ts";

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

it.each([1e99, -1, 0, 1.5, 2 ** 31])(
  "nobody is alive under %d, also where no start is known",
  (pid) => {
    const identity = { pid } as unknown as ProcessIdentity;

    expect(isAlive(identity)).toBe(false);
    expect(() => signalProcess(identity, "SIGTERM")).not.toThrow();
  },
);
