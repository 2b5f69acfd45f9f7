import { expect, it } from "vitest";
import { invariant } from "#kernel/problem.ts";
import { identifyProcess, isAlive, type ProcessIdentity, signalProcess } from "#kernel/process.ts";

function identifySelf() {
  const self = identifyProcess(process.pid);
  invariant(self !== undefined, "this process runs");
  return self;
}

it("a process is identified by pid, start time and boot", () => {
  expect(isAlive(identifySelf())).toBe(true);
});

it("a process of a machine without a boot id is identified by pid and start time", () => {
  const { pid, startedAt } = identifySelf();

  expect(isAlive({ pid, startedAt })).toBe(true);
});

it("a process of another machine, or from before a restart, is not alive here", () => {
  expect(isAlive({ ...identifySelf(), bootId: "another" })).toBe(false);
});

it("a process that started at another time is another process", () => {
  expect(isAlive({ ...identifySelf(), startedAt: "1" })).toBe(false);
});

it.each([1e99, -1, 0, 1.5, 2 ** 31])(
  "no process has the pid %d, also when no start time is recorded",
  (pid) => {
    const identity = { pid } as unknown as ProcessIdentity;

    expect(isAlive(identity)).toBe(false);
    expect(() => signalProcess(identity, "SIGTERM")).not.toThrow();
  },
);
