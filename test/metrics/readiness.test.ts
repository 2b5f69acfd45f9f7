import { expect, it } from "vitest";
import { createReadiness } from "#metrics/server.ts";

function startReadiness({ needsDependencies = false } = {}) {
  const process = { isLeaving: false };
  const readiness = createReadiness({
    isLeaving: () => process.isLeaving,
    dependencies: () => ({ postgres: "down" }),
    needsDependencies,
  });
  return { process, readiness, status: () => readiness.report().status };
}

it("the process is starting until everything is up, and leaving from the announcement on", () => {
  const { process, readiness, status } = startReadiness();

  const starting = status();
  readiness.recordStart();
  const started = status();
  process.isLeaving = true;

  expect([starting, started, status()]).toEqual(["starting", "ready", "leaving"]);
});

it("the process is leaving when it is ended while it starts", () => {
  const { process, status } = startReadiness();

  process.isLeaving = true;

  expect(status()).toBe("leaving");
});

it("the process is ready while a dependency is away, and says so", () => {
  const { readiness } = startReadiness();

  readiness.recordStart();

  expect(readiness.report()).toEqual({ status: "ready", dependencies: { postgres: "down" } });
});

it("the process is not ready while a dependency is away where the settings ask for all of them", () => {
  const { readiness } = startReadiness({ needsDependencies: true });

  readiness.recordStart();

  expect(readiness.report()).toEqual({ status: "waiting", dependencies: { postgres: "down" } });
});
