/** What a program of yours imports from `vedette/client`: the handlers of the rollout, over `control`. */
import type { z } from "zod";
import { defaultFleet, FleetName } from "#fleet/contract.ts";
import {
  blockingHandlers,
  type RolloutHandlerName,
  rolloutHandlers,
  rolloutServiceName,
} from "#rollout/contract.ts";
import { type Call, callOnce, type Gateway } from "./call.ts";
import { callToEnd } from "./call-to-end.ts";
import { checkLimitMs, gatewayOf } from "./gateway.ts";
import { VedetteError } from "./vedette-error.ts";

export type {
  RollbackResult,
  RolloutHistory,
  RolloutPlan,
  RolloutRequest,
  RolloutStatus,
} from "#rollout/contract.ts";
export { VedetteError } from "./vedette-error.ts";

export type ClientOptions = {
  /** The address of control, such as `https://rollouts.example.com`. */
  url: string;
  /** The ingress token, or that of an operator. Absent: the calls have none, for a proxy that adds it. */
  token?: string | undefined;
  /** Whose rollouts; absent: the default fleet's. */
  fleet?: string | undefined;
  /** Limit of a whole call, in milliseconds. By default 40 s; a day for a call that answers at the rollout's end. */
  timeoutMs?: number | undefined;
  /** In place of the global one: for a proxy or a certificate authority of your own. */
  fetch?: typeof fetch | undefined;
};

export type CallOptions = {
  /** Limit of this call as a whole, in milliseconds. */
  timeoutMs?: number | undefined;
  /** Ends the call, not the rollout: the call then throws the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Calls with the same key, handler and body are one call, for a week. By default each call has its own. */
  idempotencyKey?: string | undefined;
};

type Input<Handler extends RolloutHandlerName> = z.input<
  (typeof rolloutHandlers)[Handler]["input"]
>;
type Output<Handler extends RolloutHandlerName> = z.output<
  (typeof rolloutHandlers)[Handler]["output"]
>;

type Method<Handler extends RolloutHandlerName> =
  Record<string, never> extends Input<Handler>
    ? (input?: Input<Handler>, options?: CallOptions) => Promise<Output<Handler>>
    : (input: Input<Handler>, options?: CallOptions) => Promise<Output<Handler>>;

/**
 * One method for each handler. `rollout`, `resume` and `rollbackAll` answer when the rollout has ended or paused: a
 * lost connection and a restart of Vedette do not end the call, and it is made once. Each method throws
 * `VedetteError`.
 */
export type Client = {
  [Handler in RolloutHandlerName as Uncapitalize<Handler>]: Method<Handler>;
};

const dayMs = 86_400_000;
/** A little longer than the gateway's own timeout, so that its refusal is what is thrown. */
const answerTimeoutMs = 40_000;

/** Throws an error that says what is wrong with the options. */
export function createClient(options: ClientOptions): Client {
  const gateway = gatewayOf(options);
  const fleet = options.fleet ?? defaultFleet;
  if (!FleetName.safeParse(fleet).success) throw new TypeError(`"${fleet}" is no name of a fleet`);
  const methods = Object.keys(rolloutHandlers).map((name) => {
    const handler = name as RolloutHandlerName;
    const method = (input: object = {}, call: CallOptions = {}) =>
      perform(
        gateway,
        { fleet, handler },
        { input, timeoutMs: options.timeoutMs, ...defined(call) },
      );
    return [`${name.charAt(0).toLowerCase()}${name.slice(1)}`, method];
  });
  return Object.fromEntries(methods) as Client;
}

async function perform(
  gateway: Gateway,
  { fleet, handler }: { fleet: string; handler: RolloutHandlerName },
  { input, timeoutMs, ...rest }: { input: object } & CallOptions,
): Promise<unknown> {
  const isBlocking = blockingHandlers.includes(handler);
  const limitMs = timeoutMs ?? (isBlocking ? dayMs : answerTimeoutMs);
  checkLimitMs(limitMs);
  const path = `${rolloutServiceName}/${fleet}/${handler}`;
  const call: Call = { path, body: input, limitMs, ...rest };
  const answer = await (isBlocking ? callToEnd(gateway, call) : callOnce(gateway, call));
  const read = rolloutHandlers[handler].output.safeParse(answer);
  if (read.success) return read.data;
  const detail = `what ${gateway.url} answered is no answer of ${handler}: is it the address of control?`;
  throw new VedetteError({ status: 200, code: "unexpected_answer", detail }, { cause: read.error });
}

function defined<Options extends object>(options: Options): Options {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Options;
}
