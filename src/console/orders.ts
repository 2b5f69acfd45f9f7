/** Operations on the rollout. The page gets its answer as soon as a blocking operation has started. */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Log } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { Caller } from "#kernel/roles.ts";
import { type Operation, RolloutStatus } from "#rollout/contract.ts";
import { chosenFleet, rolloutPath } from "./chosen-fleet.ts";
import { type ConsoleAccess, operationOrders, StartOrder } from "./contract.ts";
import type { Guard } from "./guard.ts";
import type { Live } from "./live.ts";
import { parseBody } from "./parse.ts";

type Parts = {
  access: ConsoleAccess;
  guard: Guard;
  /** By fleet. */
  lives: ReadonlyMap<string, Live>;
  log: Log;
};

type SeenState = { rollout_id: string | null; state: string };

const pollEveryMs = 100;
/** A start calls the registry first, which may take long. */
const startsWithinMs = 30_000;

/** Reads the status from the rollout itself, not from what the console last showed. */
export async function readStatus(
  access: ConsoleAccess,
  { by, fleet, signal }: { by: Caller; fleet: string; signal?: AbortSignal },
): Promise<RolloutStatus> {
  const call = { path: rolloutPath(fleet, "Status"), body: {}, by };
  return RolloutStatus.parse(await access.call({ ...call, ...(signal && { signal }) }));
}

export function serveOrders(app: FastifyInstance, parts: Parts): void {
  const fleetOf = (request: FastifyRequest) => chosenFleet(request, [...parts.lives.keys()]);
  app.post("/api/rollout/start", async (request) => {
    const by = await parts.guard.requireWriter(request);
    const { expect, ...body } = parseBody(StartOrder, request.body);
    const fleet = fleetOf(request);
    return order(parts, { operation: "Rollout", fleet, body, by, seen: expect });
  });
  for (const [name, operation] of Object.entries(operationPaths)) {
    app.post(`/api/rollout/${name}`, async (request) => {
      const by = await parts.guard.requireWriter(request);
      const { expect, ...body } = parseBody(operationOrders[operation], request.body);
      return order(parts, { operation, fleet: fleetOf(request), body, by, seen: expect });
    });
  }
}

const operationPaths = {
  resume: "Resume",
  pause: "Pause",
  skip: "Skip",
  approve: "Approve",
  cancel: "Cancel",
  rollback: "RollbackAll",
} as const;

/** They answer only when the rollout stands still again. */
const blocking = new Set<Operation>(["Rollout", "Resume", "RollbackAll"]);

type Order = {
  operation: Operation;
  fleet: string;
  body: unknown;
  by: Caller;
  seen: SeenState;
};

async function order(parts: Parts, { operation, fleet, body, by, seen }: Order) {
  const { access, log, lives } = parts;
  const of = { by, fleet };
  requireUnchanged(await readStatus(access, of), seen);
  const { rollout_id: rollout } = seen;
  log.info({ actor: by.actor, operation, fleet, rollout }, "ordered from the console");
  const begun = new AbortController();
  const answered = access.call({
    path: rolloutPath(fleet, operation),
    body,
    by,
    idempotencyKey: `console-${randomUUID()}`,
    blocks: blocking.has(operation),
    signal: begun.signal,
  });
  try {
    await Promise.race([answered, stateChange(access, of, seen)]);
  } finally {
    // The operation continues without this call; a refusal would have arrived by now.
    answered.catch(() => {});
    begun.abort();
    lives.get(fleet)?.poll();
  }
  return { status: await readStatus(access, of) };
}

/** Refuses an operation that the operator decided on the basis of an older state. */
function requireUnchanged(now: SeenState, seen: SeenState): void {
  if (now.rollout_id === seen.rollout_id && now.state === seen.state) return;
  const detail = `The rollout has changed: it is ${now.state.replace("_", " ")} now. Check the page and decide again.`;
  throw new ProblemError({ status: 409, code: "moved_on", detail });
}

/** Resolves when the rollout has left the state that was seen, or after a timeout. */
async function stateChange(
  access: ConsoleAccess,
  of: { by: Caller; fleet: string },
  seen: SeenState,
): Promise<void> {
  const untilMs = performance.now() + startsWithinMs;
  while (performance.now() < untilMs) {
    await delay(pollEveryMs);
    const now = await readStatus(access, of).catch(() => seen);
    if (now.rollout_id !== seen.rollout_id || now.state !== seen.state) return;
  }
}
