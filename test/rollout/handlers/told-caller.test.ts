/** Whoever waits for a run says so, and is answered by a Cancel before the run is. */
import { type ObjectSharedContext, RestatePromise, TerminalError } from "@restatedev/restate-sdk";
import { describe, expect, it } from "vitest";
import type { RolloutStatus } from "#rollout/contract.ts";
import { createPublicHandlers, type PublicParts } from "#rollout/handlers/public.ts";
import { imageV2 } from "../../support/rollout/rollout-builders.ts";

const runner = "inv_1gHzTMDQxYoF0LxtJFGV0JXWTbLkxWZkXd";
const caller = "inv_19VuwRj5ATQb63NFpUnIOqhEFRUDykGJfX";
const cancelled = { state: "cancelled", in_flight: 2 } as RolloutStatus;
const completed = { state: "completed", reverted: 0, not_reverted: [] };
const paused = { state: "paused", reverted: 0, not_reverted: [] };

const pending = () => RestatePromise.resolve(new Promise<never>(() => {}));

type Known = {
  begun: Record<string, unknown>;
  signal?: RestatePromise<unknown>;
  end?: RestatePromise<unknown>;
};

/** The handlers, called for a run of which only these things are known. */
function handlersFor({ begun, signal = pending(), end = pending() }: Known) {
  const noted: unknown[] = [];
  const lost: string[] = [];
  const object = {
    begin: async () => begun,
    startResume: async () => begun,
    recordCaller: (note: unknown) => noted.push(note),
    runnerEnded: async ({ failure }: { failure: string }) => {
      lost.push(failure);
      return paused;
    },
  };
  const objectOf = (_: unknown, key: string) => (key === "singleton" ? object : {});
  const ctx = {
    key: "singleton",
    get: async () => null,
    run: async (_: string, step: () => unknown) => step(),
    request: () => ({ id: caller, headers: new Map() }),
    client: objectOf,
    sendClient: objectOf,
    signal: (name: string) => (name === "cancel" ? signal : pending()),
    invocation: (id: string) => ({ attach: () => (id === runner ? end : pending()) }),
  } as unknown as ObjectSharedContext;
  const parts = {
    fleets: {
      names: ["singleton"],
      require: () => ({ resolveImage: async () => ({ image: imageV2 }) }),
    },
    promotions: { before: async () => [] },
    readActor: () => ({ by: "tester" }),
    readGateTargets: async () => ({ known: [], whyOff: () => [], webhooks: [], rows: [] }),
  } as unknown as PublicParts;
  return { ctx, handlers: createPublicHandlers(parts), noted, lost };
}

function resume(known: Known) {
  const { ctx, handlers, noted, lost } = handlersFor(known);
  return { answer: handlers.Resume(ctx, {}), noted, lost };
}

function rollOut(known: Known) {
  const { ctx, handlers, noted } = handlersFor(known);
  return { answer: handlers.Rollout(ctx, { image: imageV2 }), noted };
}

const handle = { rolloutId: "r-1", runner };
const told = () => RestatePromise.resolve(cancelled);
const ended = () => RestatePromise.resolve(completed);

it("Rollout answers with the status of a Cancel, although the run continues", async () => {
  const { answer, noted } = resume({ begun: handle, signal: told() });

  expect(await answer).toEqual(cancelled);
  expect(noted).toEqual([{ runner, caller }]);
});

it("Rollout answers with the end of the run, if that is sooner", async () => {
  const { answer } = resume({ begun: handle, end: ended() });

  expect(await answer).toEqual({ state: "completed" });
});

describe("a Rollout", () => {
  it("says who waits, and answers with what a Cancel tells it", async () => {
    const { answer, noted } = rollOut({ begun: handle, signal: told() });

    expect(await answer).toEqual(cancelled);
    expect(noted).toEqual([{ runner, caller }]);
  });
});

it.for([
  ["is rejected", () => RestatePromise.reject(new TerminalError("by hand")), "by hand"],
  ["has no value", () => RestatePromise.resolve(undefined), "without its answer"],
  ["has the value null", () => RestatePromise.resolve(null), "without its answer"],
] as const)("asks the rollout when what it is told %s", async ([, signal, reason]) => {
  const { answer, lost } = resume({ begun: handle, signal: signal() });

  expect(await answer).toEqual({ state: "paused" });
  expect(lost).toEqual([expect.stringContaining(reason)]);
});
