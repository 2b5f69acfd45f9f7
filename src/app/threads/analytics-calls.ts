/** What the main thread does for the analytics of the others: it alone writes to the spool and asks the store. */
import { EngineError } from "#api/analytics/engine/engine-error.ts";
import type { Analytics } from "../analytics.ts";
import {
  type MainCalls,
  type QueryAnswer,
  stateWords,
  storeStates,
  type TakenBatch,
} from "./contract.ts";

type AnalyticsParts = Analytics["shared"];

/** Tells all threads how the store is. */
export function tellStoreState(states: Int32Array, analytics: AnalyticsParts): void {
  const state = analytics === undefined ? "absent" : analytics.engine.state();
  Atomics.store(states, stateWords.storeState, storeStates.indexOf(state));
  Atomics.store(states, stateWords.isStoreAway, analytics?.outbox.isAway() === true ? 1 : 0);
}

/** What a thread asks of the main one about analytics; never, while they are off. */
export function createAnalyticsCalls(shared: AnalyticsParts): Omit<MainCalls, "noteReady"> {
  const leaving = new Map<number, Promise<void>>();
  let tickets = 0;
  return {
    takeBatch: async (batch): Promise<TakenBatch> => {
      if (shared === undefined) return { state: "dropped", reason: "analytics are off" };
      // What comes from another thread is a plain array of bytes.
      const body = Buffer.from(batch.body.buffer, batch.body.byteOffset, batch.body.byteLength);
      const placed = await shared.outbox.take({ ...batch, body });
      if (placed.state === "spooled") return placed;
      if (placed.state === "dropped") return { state: "dropped", reason: String(placed.error) };
      tickets += 1;
      leaving.set(tickets, placed.left);
      return { state: "held", ticket: tickets };
    },
    awaitLeft: async (ticket) => {
      await leaving.get(ticket);
      leaving.delete(ticket);
    },
    query: async (query): Promise<QueryAnswer> => {
      if (shared === undefined) return { failure: "absent", message: "Analytics are off." };
      try {
        return { text: await shared.engine.queryText(query) };
      } catch (error) {
        if (error instanceof EngineError) return { failure: error.failure, message: error.message };
        throw error;
      }
    },
  };
}
