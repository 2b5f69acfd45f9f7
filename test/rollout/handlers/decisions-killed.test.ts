/** A decision that is killed half-way: a run that was killed with it is looked for at once. */
import {
  type ObjectContext,
  type ObjectSharedContext,
  TerminalError,
} from "@restatedev/restate-sdk";
import { describe, expect, it } from "vitest";
import { toTerminalError } from "#kernel/restate.ts";
import { createFleets } from "#rollout/fleets.ts";
import { createPublicHandlers, type PublicParts } from "#rollout/handlers/public.ts";
import { repair, reviveRepair } from "#rollout/handlers/repair.ts";
import type { OrderStop } from "#rollout/handlers/stop.ts";
import { nextState } from "#rollout/rules/transitions.ts";
import { buildHead, imageV2 } from "../../support/rollout/rollout-builders.ts";
import { aFleet } from "../../support/rollout/rollout-fleets.ts";

type Sent = [handler: string, request: unknown];

/** Whose exclusive handlers all fail with this error. */
function createContext(error: Error) {
  const sent: Sent[] = [];
  const named = (answer: (handler: string, request: unknown) => unknown) =>
    new Proxy(
      {},
      {
        get: (_, handler) => (request: unknown) => answer(String(handler), request),
      },
    );
  const ctx = {
    key: "singleton",
    request: () => ({ headers: new Map() }),
    get: async () => null,
    run: (_name: string, step: () => Promise<unknown>) => step(),
    client: () => named(() => Promise.reject(error)),
    sendClient: () => named((handler, request) => void sent.push([handler, request])),
  };
  return { ctx: ctx as unknown as ObjectSharedContext, sent };
}

const facade = createPublicHandlers({
  fleets: createFleets([aFleet()]),
  promotions: { before: async () => [], hasCompleted: async () => false },
  readActor: () => ({ by: "tester" }),
  readGateTargets: async () => ({ known: [], whyOff: () => [], rows: [] }),
} as unknown as PublicParts);

const killed = () => new TerminalError("killed", { errorCode: 409 });

describe("a decision that was killed", () => {
  it.each([
    ["Rollout", (ctx: ObjectSharedContext) => facade.Rollout(ctx, { image: imageV2 })],
    ["Resume", (ctx: ObjectSharedContext) => facade.Resume(ctx, {})],
    ["RollbackAll", (ctx: ObjectSharedContext) => facade.RollbackAll(ctx, {})],
  ])("of %s starts a repair of the current run at once", async (_, call) => {
    const { ctx, sent } = createContext(killed());

    await expect(call(ctx)).rejects.toThrow("killed");

    expect(sent).toEqual([["repair", {}]]);
  });

  it("is no decision that was refused", async () => {
    const { ctx, sent } = createContext(toTerminalError(refusal()));

    await expect(facade.Resume(ctx, {})).rejects.toThrow("not legal");

    expect(sent).toEqual([]);
  });
});

it("a Status that finds no timer of the current run starts one without a run's name", async () => {
  const { ctx, sent } = createContext(killed());

  await reviveRepair(ctx, buildHead({ state: "in_progress", runner: "inv_2" }));

  expect(sent).toEqual([["repair", {}]]);
});

describe("the timer without a run's name", () => {
  const sentBy = async (state: "rolling_back" | "cancelled") => {
    const sent: Sent[] = [];
    const client = new Proxy(
      {},
      { get: (_, handler) => (request: unknown) => void sent.push([String(handler), request]) },
    );
    const ctx = {
      key: "singleton",
      get: async (key: string) =>
        key === "rolloutState" ? buildHead({ state, runner: "inv_2" }) : null,
      set: () => {},
      date: { now: async () => 1_800_000_000_000 },
      sendClient: () => client,
    };
    await repair(ctx as unknown as ObjectContext, {}, {} as OrderStop);
    return sent;
  };

  it("watches the current run", async () => {
    expect(await sentBy("rolling_back")).toContainEqual([
      "run",
      { rolloutId: "r-1", runner: "inv_2" },
    ]);
  });

  it("watches nothing when none is", async () => {
    expect(await sentBy("cancelled")).toEqual([]);
  });
});

function refusal() {
  try {
    nextState("Resume", null);
  } catch (error) {
    return error as Parameters<typeof toTerminalError>[0];
  }
  throw new Error("Resume is legal from idle");
}
