/** Ends invocations that another version started, and repeats those of their calls that are still needed. */
import { type Context, iface, implement } from "@restatedev/restate-sdk";
import type { Duties } from "#kernel/restate.ts";
import type { SentCall, WedgedInvocation, WedgedReader } from "./wedged.ts";

/** A call to make; `payload`: base64. */
type Call = Omit<SentCall, "payload"> & { payload: string };

export type ReleaseOrder = { calls: Call[]; end: string[] };

export const releaseService = iface.service("vedette.v1.Release", {
  release: iface.json<ReleaseOrder, null>(),
});

/** Kills invocations and everything that they have called. Ignores those that have ended already. */
type EndInvocations = (invocations: readonly string[]) => Promise<void>;

export function createReleaseService(endInvocations: EndInvocations) {
  return implement(releaseService, {
    handlers: {
      release: async (ctx, { calls, end }) => {
        const nowMs = await ctx.date.now();
        // Before the kill: if this is interrupted and retried, the idempotency key makes each call once only.
        // Calls of a key wait until the invocation that holds it has ended.
        for (const call of calls) makeCall(ctx, call, nowMs);
        await ctx.run("end-invocations", () => endInvocations(end));
        return null;
      },
    },
    // Called by the worker itself; the gateway in front of Restate allows no other caller.
    options: { journalRetention: 0 },
  });
}

function makeCall(ctx: Context, { id, service, key, handler, payload, atMs }: Call, nowMs: number) {
  ctx.genericSend({
    service,
    method: handler,
    ...(key !== null && { key }),
    parameter: Buffer.from(payload, "base64"),
    ...(atMs > nowMs && { delay: atMs - nowMs }),
    idempotencyKey: id,
  });
}

/** An invocation, running or waiting, that ends with the wedged one. */
type CallToEnd = Omit<SentCall, "payload"> & { payload: Buffer | undefined; isBegun: boolean };

/** Plans the release. Killing an invocation also kills all calls that it has sent and that have not ended. */
export async function readRelease(
  wedged: readonly WedgedInvocation[],
  { reader, duties }: { reader: Pick<WedgedReader, "journals">; duties: Duties },
): Promise<ReleaseOrder> {
  const endings = new Map<string, CallToEnd>();
  let { inputs, children } = await reader.journals(wedged.map(({ id }) => id));
  for (const { id, service, key, handler } of wedged) {
    const payload = inputs.get(id);
    endings.set(id, { id, service, key, handler, payload, atMs: 0, isBegun: true });
  }
  while (children.length > 0) {
    const found = children.filter(({ id }) => !endings.has(id));
    for (const child of found) endings.set(child.id, child);
    ({ inputs, children } = await reader.journals(
      found.filter(({ isBegun }) => isBegun).map(({ id }) => id),
    ));
  }
  return planRelease([...endings.values()], { wedged, duties });
}

/** Decides which calls to make again and which invocations to end. Pure. */
function planRelease(
  endings: readonly CallToEnd[],
  { wedged, duties }: { wedged: readonly Pick<WedgedInvocation, "id">[]; duties: Duties },
): ReleaseOrder {
  const calls = endings.flatMap((ending): Call[] => {
    const { payload, isBegun, ...call } = ending;
    const duty = duties[`${call.service}/${call.handler}`];
    if (duty === undefined) return [];
    const isRepeated = payload !== undefined && (!isBegun || duty.isCalledAgain === true);
    const isRestored = isBegun && duty.restoredBy !== undefined;
    return [
      ...(isRepeated ? [{ ...call, payload: payload.toString("base64") }] : []),
      ...(isRestored ? [restoreCall(call, duty.restoredBy as string)] : []),
    ];
  });
  return { calls, end: wedged.map(({ id }) => id) };
}

const emptyPayload = Buffer.from("{}").toString("base64");

function restoreCall(call: Omit<Call, "payload">, handler: string): Call {
  return { ...call, id: `${call.id}/${handler}`, handler, payload: emptyPayload, atMs: 0 };
}
