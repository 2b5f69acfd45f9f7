/** Calls to our own server, typed by the contracts of its handlers. */
import { signal } from "@preact/signals";
import type { z } from "zod";
import type { alertEventHandlers, alertEvents } from "#alerts/contract.ts";
import type {
  KeyUsage,
  KeyUsageRequest,
  PastRollout,
  RoutingView,
  SeenState,
  SentinelDetail,
  Session,
  SignInChoice,
  SimulationRequest,
} from "#console/contract.ts";
import { applyChanges, type Change } from "#console/diff.ts";
import type { FleetDriftRequest, SentinelLog, SentinelLogRequest } from "#fleet/contract.ts";
import type { FleetDrift } from "#fleet/drift-contract.ts";
import type { FleetOverview, FleetSearch } from "#fleet/overview/contract.ts";
import type { checkReaders, checkReads } from "#monitor/results/contract.ts";
import type { pinHandlers, pinsName } from "#rollout/choice/contract.ts";
import type { Operation, rolloutHandlers, rolloutServiceName } from "#rollout/contract.ts";
import type { SeenImage, SentinelDeploy } from "#rollout/history/contract.ts";
import type { promotionHandlers, promotionsName } from "#rollout/promotions/contract.ts";
import type { proofHandlers, proofsName } from "#rollout/proof/contract.ts";
import type { replayHandlers, replayName } from "#rollout/replay/contract.ts";
import type { windowHandlers, windowsName } from "#rollout/windows/contract.ts";
import type { statusHandlers, statusReads } from "#status/contract.ts";
import type { engineHandlers, engineService } from "#worker/contract.ts";
import { chosenFleet, fleetQuery } from "./chosen-fleet.ts";
import { notifyOtherTabs, session, takeTicket } from "./session.ts";

/** Why the session has ended, shown on the sign-in page. */
export const signedOutBecause = signal<string | null>(null);

/** A refusal by the server; its message is meant for the operator. */
class Refusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The HTTP status of a refusal; undefined: there was no answer to the question. */
export function statusOf(problem: unknown): number | undefined {
  return problem instanceof Refusal && problem.status > 0 ? problem.status : undefined;
}

/** True if the same question may be answered later. */
export function isUnanswered(problem: unknown): boolean {
  const status = statusOf(problem);
  return status === undefined || status === 408 || status === 429 || status >= 500;
}

type Handlers = Record<string, { input: z.ZodType; output: z.ZodType }>;

/** The input and the output of each handler of a service, by the path of a call. */
type Calls<Service extends string, Of extends Handlers> = {
  [Name in keyof Of & string as Service extends `vedette.v1.${infer Short}`
    ? `${Short}/${Name}`
    : never]: { input: z.input<Of[Name]["input"]>; output: z.output<Of[Name]["output"]> };
};

/** The views of the console's server, and the handlers that pages read. */
export type Reads = Calls<
  typeof rolloutServiceName,
  Pick<typeof rolloutHandlers, "Plan" | "History">
> &
  Calls<typeof pinsName, typeof pinHandlers> &
  Calls<typeof promotionsName, typeof promotionHandlers> &
  Calls<typeof proofsName, typeof proofHandlers> &
  Calls<typeof replayName, typeof replayHandlers> &
  Calls<typeof windowsName, typeof windowHandlers> &
  Calls<typeof statusReads.name, typeof statusHandlers> &
  Calls<typeof checkReads.name, typeof checkReaders> &
  Calls<typeof engineService.name, typeof engineHandlers> &
  Calls<typeof alertEvents.name, typeof alertEventHandlers> & {
    "FleetService/Drift": { input: z.input<typeof FleetDriftRequest>; output: FleetDrift };
    "FleetService/Log": { input: z.input<typeof SentinelLogRequest>; output: SentinelLog };
    routing: { input: z.input<typeof SimulationRequest>; output: RoutingView };
    "key-usage": { input: z.input<typeof KeyUsageRequest>; output: KeyUsage };
    "past-rollout": { input: { rollout_id: string; moments?: boolean }; output: PastRollout };
    fleet: { input: z.input<typeof FleetSearch>; output: FleetOverview };
    images: { input: Record<string, never>; output: { images: SeenImage[] } };
    "sentinel-deploys": { input: { id: string }; output: { deploys: SentinelDeploy[] } };
    sentinel: { input: { id: string; rollout_id: string | null }; output: SentinelDetail };
  };

/** The last answer to a question that is asked again and again, of which the server sends what has changed. */
export type Polled = { tag?: string; answer?: unknown };

export function read<Name extends keyof Reads>(
  name: Name,
  body: Reads[Name]["input"],
  polled?: Polled,
): Promise<Reads[Name]["output"]> {
  return name.includes("/") ? send(name, body, polled) : call("POST", `read/${name}`, { body });
}

/** Calls a handler: `service/handler`, or `service/key/handler`. Rollouts are those of the chosen fleet. */
export function send<Answer = unknown>(
  path: string,
  body: object,
  polled?: Polled,
): Promise<Answer> {
  const ofFleet = path.replace("RolloutService/", `RolloutService/${chosenFleet.value}/`);
  return call<Answer>("POST", `vedette.v1.${ofFleet}`, { body, polled });
}

/** Operates the rollout; `seen`: as the operator saw it. */
export function order(operation: Operation, seen: SeenState | undefined, body: object) {
  const expect = { rollout_id: seen?.rollout_id ?? null, state: seen?.state ?? "idle" };
  return send(`SentinelRolloutService/${operation}`, { expect, ...body });
}

export async function signIn(token: string): Promise<void> {
  session.value = await call<Session>("POST", "session", { body: { token } });
  signedOutBecause.value = null;
  notifyOtherTabs();
}

/** Reads how people sign in here, and why the last sign-in at the identity provider failed. */
export function readSignInChoice(): Promise<SignInChoice> {
  return call<SignInChoice>("GET", "sign-in");
}

/** Leaves the page for that of the identity provider, which sends the browser back to `returnTo`. */
export async function signInAtProvider(returnTo: string): Promise<void> {
  const { url } = await call<{ url: string }>("POST", "sign-in", {
    body: { return_to: returnTo },
  });
  location.assign(url);
}

export async function signOut(): Promise<void> {
  await call("DELETE", "session");
  session.value = null;
  notifyOtherTabs();
}

/** Reads the session. A printed link signs in by its ticket, unless signed in. Without a session: the sign-in page. */
export async function readSession(): Promise<void> {
  try {
    session.value = await call<Session>("GET", "session");
    takeTicket();
  } catch (error) {
    if (!(error instanceof Refusal && error.status === 401)) throw error;
    session.value = await signInByTicket(takeTicket());
  }
}

async function signInByTicket(ticket: string | undefined): Promise<Session | null> {
  if (ticket === undefined) return null;
  try {
    return await call<Session>("POST", "session/ticket", { body: { ticket } });
  } catch (error) {
    signedOutBecause.value = (error as Refusal).message;
    return null;
  }
}

const timeoutMs = 45_000;

type Sent = { body?: unknown; polled?: Polled | undefined };

async function call<Answer>(
  method: string,
  path: string,
  { body, polled }: Sent = {},
): Promise<Answer> {
  const take = takePolled(polled);
  const answer = await fetch(`/console/api/${path}${fleetQuery()}`, {
    method,
    headers: headersOf({ body, polled }),
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((cause: Error) => {
    throw new Refusal(0, `The server does not answer: ${cause.message}`);
  });
  if (answer.status === 204) return undefined as Answer;
  const parsed = await answer.json().catch(() => ({ detail: "The answer is not from Vedette." }));
  if (answer.ok) return take(answer, parsed) as Answer;
  if (answer.status === 401 && session.value) {
    signedOutBecause.value = "Your session has ended. Sign in again; rollouts are not affected.";
    session.value = null;
  }
  if (parsed.code === "foreign_page" && (await hasChangedHands())) {
    throw new Refusal(answer.status, handedOver);
  }
  throw new Refusal(answer.status, parsed.detail ?? `The server answered ${answer.status}.`);
}

function headersOf({ body, polled }: Sent): Record<string, string> {
  return {
    ...(body !== undefined && { "content-type": "application/json" }),
    ...(session.value && { "x-csrf-token": session.value.csrf }),
    ...(polled !== undefined && { "if-none-match": polled.tag ?? "none" }),
  };
}

/** Status 226: the changes since the answer that the page had when it asked. */
function takePolled(polled: Polled = {}) {
  const before = polled.answer;
  return ({ status, headers }: Response, body: unknown): unknown => {
    polled.answer = status === 226 ? applyChanges(before, body as Change) : body;
    polled.tag = headers.get("etag") ?? "none";
    return polled.answer;
  };
}

const handedOver =
  "Somebody else has signed in in this browser. Nothing was done; look again before you repeat it.";

/** True if this page's session is another one by now: then it is shown from here on. */
async function hasChangedHands(): Promise<boolean> {
  const before = session.value?.csrf;
  await readSession().catch(() => {});
  return session.value != null && session.value.csrf !== before;
}
