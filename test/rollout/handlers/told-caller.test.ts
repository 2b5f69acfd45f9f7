/** Whoever waits for a run says so, and is answered by a Cancel before the run is. */
import { type ObjectSharedContext, RestatePromise } from "@restatedev/restate-sdk";
import { expect, it } from "vitest";
import type { RolloutStatus } from "#rollout/contract.ts";
import { createPublicHandlers, type PublicParts } from "#rollout/handlers/public.ts";

const runner = "inv_1gHzTMDQxYoF0LxtJFGV0JXWTbLkxWZkXd";
const caller = "inv_19VuwRj5ATQb63NFpUnIOqhEFRUDykGJfX";
const cancelled = { state: "cancelled", in_flight: 2 } as RolloutStatus;
const completed = { state: "completed", reverted: 0, not_reverted: [] };

const pending = () => RestatePromise.resolve(new Promise<never>(() => {}));

/** A Resume of a run of which only these things are known. */
function resume({ begun, signal = pending(), end = pending() }: ResumeParts) {
  const noted: unknown[] = [];
  const ctx = {
    key: "singleton",
    request: () => ({ id: caller, headers: new Map() }),
    client: () => ({ beginResume: async () => begun }),
    sendClient: () => ({ noteCaller: (note: unknown) => noted.push(note) }),
    signal: () => signal,
    invocation: () => ({ attach: () => end }),
  } as unknown as ObjectSharedContext;
  const parts = { readActor: () => ({ by: "tester" }) } as unknown as PublicParts;
  return { answer: createPublicHandlers(parts).Resume(ctx, {}), noted };
}

type ResumeParts = {
  begun: Record<string, unknown>;
  signal?: RestatePromise<unknown>;
  end?: RestatePromise<unknown>;
};

const handle = { rolloutId: "r-1", runner };

it("answers with what a Cancel tells it, although the run goes on", async () => {
  const { answer, noted } = resume({
    begun: { ...handle, notesCaller: true },
    signal: RestatePromise.resolve(cancelled),
  });

  expect(await answer).toEqual(cancelled);
  expect(noted).toEqual([{ runner, caller }]);
});

it("answers with the end of the run, if that is sooner", async () => {
  const { answer } = resume({
    begun: { ...handle, notesCaller: true },
    end: RestatePromise.resolve(completed),
  });

  expect(await answer).toEqual({ state: "completed" });
});

it("has the steps that it had when an older version began the run", async () => {
  const { answer, noted } = resume({
    begun: handle,
    signal: RestatePromise.resolve(cancelled),
    end: RestatePromise.resolve(completed),
  });

  expect(await answer).toEqual({ state: "completed" });
  expect(noted).toEqual([]);
});
