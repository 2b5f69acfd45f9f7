/** Any fleet behind a small HTTP protocol (docs/fleets.md, "Your own fleet"). */
import { z } from "zod";
import type { ReasonCode } from "#fleet/contract.ts";
import { boundCounters, type Snapshot } from "#fleet/counters/counters.ts";
import { checkWanted, malformed, parseAs } from "#fleet/drivers/calls.ts";
import { within } from "#kernel/async.ts";
import { parseJson, readBody, withoutSecret } from "#kernel/body.ts";
import { Agent, type Dispatcher, errors, request } from "#kernel/http.ts";
import { compareImages, isSameContent } from "#kernel/image-reference.ts";
import { listOf } from "#kernel/setting.ts";
import {
  boundLabels,
  type DeployOrder,
  type Driver,
  type DriverCall,
  type ListedSentinel,
  type SentinelObservation,
  UnreachableError,
  UnwantedError,
} from "./driver.ts";
import { readFleetLog } from "./http-logs.ts";

const ofFleet = "the fleet's answer";

export type HttpDriverSettings = { url: string; token: string };

const pageSize = 500;

/** A list with more pages has cursors that repeat. */
const maxPages = 2_000;
const maxSentinels = 1_000_000;

/** The limit of a whole call, from the first byte to the last. */
const callTimeoutMs = 10_000;
const pageTimeoutMs = 30_000;

/** The largest answers: for one sentinel, and for a page, which may be the whole list without paging. */
const maxAnswerBytes = 65_536;
const maxPageBytes = 33_554_432;
/** The limit for all pages of a list together: about 1,000 characters for each of 250,000 sentinels. */
const maxListChars = 268_435_456;
/** A cursor becomes part of the next URL. */
const maxCursorChars = 4_096;

/** Empty: nothing runs; of a healthy sentinel its program cannot omit the field, and the image is not known. */
const runningImage = z
  .string()
  .trim()
  .nullish()
  .transform((text) => text ?? undefined);

function withRunning<Given extends { running_image?: string | undefined; healthy?: unknown }>(
  given: Given,
): Given {
  const isUnknown = given.running_image === "" && given.healthy !== false;
  return isUnknown ? { ...given, running_image: undefined } : given;
}

/** Programs that cannot omit a field send an empty text instead; those in a shell add a line break. */
const optionalText = () =>
  z
    .string()
    .nullish()
    .transform((text) => text?.trim() || undefined);

const Listed = z.object({
  id: z.string().min(1),
  region: z.string(),
  image: z.string().trim(),
  running_image: runningImage,
  healthy: z.boolean(),
  labels: z.unknown().optional().transform(boundLabels),
  metrics: z.unknown().optional().transform(boundCounters),
});

const Page = z.object({
  sentinels: listOf(Listed, maxSentinels),
  next_cursor: z.string().max(maxCursorChars).nullish(),
});

const Reported = z.object({
  id: z.string(),
  image: z.string().trim(),
  running_image: runningImage,
  status: z.enum(["progressing", "ready", "failed"]),
  reason: optionalText(),
  /** True if the sentinel serves, with whichever image. */
  healthy: z.boolean().nullish(),
  /** The deploy to which the status belongs; absent: the fleet does not report it. */
  deploy_id: optionalText(),
});

/** Connections to the fleet: more than deploys in flight, so that calls that hang do not block others. */
const connections = 1_024;

export function createHttpDriver(settings: HttpDriverSettings): Driver {
  const connect = { timeout: 5_000 };
  const single = new Agent({ connect, connections, maxResponseSize: maxAnswerBytes });
  const pages = new Agent({ connect, connections: 4, maxResponseSize: maxPageBytes });
  const logs = new Agent({ connect, connections: 16 });
  const call = (path: string, { signal, isWanted }: DriverCall = {}, body?: object) =>
    callFleet(settings, path, {
      dispatcher: isWanted === undefined ? single : single.compose(checkWanted(isWanted)),
      maxBytes: maxAnswerBytes,
      signal: within(callTimeoutMs, signal),
      ...(body !== undefined && { body }),
    });
  const listPages = (whole?: AbortSignal) =>
    listAll((path) =>
      callFleet(settings, path, {
        dispatcher: pages,
        maxBytes: maxPageBytes,
        signal: within(pageTimeoutMs, whole),
      }),
    );
  return {
    list: listPages,
    apply: async ({ sentinelId, image, deployId }, options) => {
      const body = { image, deploy_id: deployId };
      const answer = await call(sentinelPath(sentinelId), options, body);
      if (answer.status >= 300) return { failure: refusal(answer), ...apiFailure(answer) };
      const seen = gradeReply(answer, { sentinelId, image, deployId });
      return seen === undefined ? {} : { seen };
    },
    observe: async ({ sentinelId, image, deployId }, options) => {
      const query = new URLSearchParams({ deploy_id: deployId });
      const answer = await call(`${sentinelPath(sentinelId)}?${query}`, options);
      if (answer.status >= 300) {
        return { status: "failed", reason: refusal(answer), ...apiFailure(answer) };
      }
      return grade(parseAs(Reported, answer.body, ofFleet), { sentinelId, image, deployId });
    },
    readCounters: async (signal) => countersOf(await listPages(signal)),
    readLog: async ({ sentinelId, deployId }, { lines, signal }) => {
      const url = `${settings.url}${sentinelPath(sentinelId)}/log`;
      const asked = { ...settings, url, lines, signal, dispatcher: logs };
      try {
        return await readFleetLog(asked, deployId);
      } catch (error) {
        throw unreachable(error as Error, settings);
      }
    },
    start: async () => {},
    stop: async () => {
      await Promise.all([single.destroy(), pages.destroy(), logs.destroy()]);
    },
  };
}

type Answer = { status: number; body: unknown; chars: number };
type Call = (path: string, body?: object) => Promise<Answer>;

async function listAll(call: Call): Promise<ListedSentinel[]> {
  const sentinels: ListedSentinel[] = [];
  const cursors = new Set<string>();
  let cursor: string | undefined;
  let chars = 0;
  const hasEnd = () => chars <= maxListChars && sentinels.length <= maxSentinels;
  for (let page = 0; page < maxPages && hasEnd(); page++) {
    const query = new URLSearchParams({ limit: String(pageSize), ...(cursor && { cursor }) });
    const answer = await call(`/sentinels?${query}`);
    if (answer.status >= 300) throw new UnreachableError(refusal(answer));
    const { sentinels: more, next_cursor } = parseAs(Page, answer.body, ofFleet);
    // One by one: a page may have more sentinels than a call may have arguments.
    for (const sentinel of more) sentinels.push(withRunning(sentinel));
    if (!next_cursor) return sentinels;
    if (cursors.has(next_cursor)) {
      throw new UnreachableError("unreachable: the fleet's list repeats a cursor");
    }
    cursors.add(next_cursor);
    cursor = next_cursor;
    chars += answer.chars;
  }
  throw new UnreachableError(
    `unreachable: the fleet's list has no end after ${maxPages} pages, ${maxSentinels} sentinels or ${maxListChars} characters`,
  );
}

function countersOf(listed: readonly ListedSentinel[]): Snapshot {
  return new Map(
    listed.flatMap(({ id, metrics }) => (metrics === undefined ? [] : [[id, metrics] as const])),
  );
}

/** Ready: this image runs, in any spelling. A status that is of another deploy says nothing about ours. */
function grade(reported: z.infer<typeof Reported>, order: DeployOrder): SentinelObservation {
  const { status, id, deploy_id: deployId } = reported;
  if (id !== order.sentinelId) throw malformed(ofFleet, "id");
  const { running_image, reason, healthy } = withRunning(reported);
  const now = { running_image, ...(healthy != null && { healthy }) };
  const isOurs = deployId === undefined || deployId === order.deployId;
  const isOrdered = isOurs && compareImages(reported.image, order.image) !== "other";
  const runsOther =
    running_image !== undefined && compareImages(running_image, order.image) === "other";
  if (!isOrdered) return { status: "progressing", ...now, isOrdered };
  if (status === "ready" && runsOther) {
    return { status: "progressing", ...now, isOrdered, deniesReady: true };
  }
  const named = running_image || reported.image;
  const isCertain = status !== "failed" && isSameContent(named, order.image);
  const mayBeOfEarlier = deployId === undefined && status !== "progressing" && !isCertain;
  return { status, ...now, isOrdered, reason, ...(mayBeOfEarlier && { mayBeOfEarlier }) };
}

/** Returns the observation in the answer to an order, if it is of this very deploy. Fleets may answer with anything. */
function gradeReply({ status, body }: Answer, order: DeployOrder): SentinelObservation | undefined {
  const reported = status === 200 ? Reported.safeParse(body).data : undefined;
  if (reported?.id !== order.sentinelId || reported.deploy_id !== order.deployId) return undefined;
  return grade(reported, order);
}

function sentinelPath(id: string): string {
  return `/sentinels/${encodeURIComponent(id)}`;
}

/** `maxBytes`: of the answer's text, of which a few KB may be compressed to what the dispatcher lets through. */
type FleetCall = { dispatcher: Dispatcher; maxBytes: number; signal: AbortSignal; body?: object };

async function callFleet(
  { url, token }: HttpDriverSettings,
  path: string,
  { body, maxBytes, ...call }: FleetCall,
): Promise<Answer> {
  const headers = {
    authorization: `Bearer ${token}`,
    accept: "application/json",
    ...(body !== undefined && { "content-type": "application/json" }),
  };
  try {
    const answer = await request(`${url}${path}`, {
      ...call,
      method: body === undefined ? "GET" : "PUT",
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const whole = await readBody(answer.body, maxBytes);
    if (whole === undefined) throw new errors.ResponseExceededMaxSizeError();
    const bytes = withoutSecret(whole, token);
    if (isTemporary(answer.statusCode)) {
      throw new UnreachableError(`unreachable: the fleet answered ${answer.statusCode}`);
    }
    return { status: answer.statusCode, body: parseJson(bytes), chars: bytes.length };
  } catch (error) {
    if (error instanceof UnreachableError || error instanceof UnwantedError) throw error;
    throw unreachable(error as Error, { url });
  }
}

function unreachable(error: Error, { url }: Pick<HttpDriverSettings, "url">): UnreachableError {
  const words = `unreachable: ${describeFailure(error)} at ${new URL(url).origin}`;
  return new UnreachableError(words, { cause: error });
}

function describeFailure(error: Error & { code?: unknown }): string {
  if (error.name === "TimeoutError") return "the fleet did not answer in time";
  if (error.code === "UND_ERR_RES_EXCEEDED_MAX_SIZE") return "the fleet's answer is too large";
  return `${String(error.code ?? "error")} on the way to the fleet`;
}

/** A temporary failure of the API, which says nothing about this deploy. */
function isTemporary(status: number): boolean {
  return status >= 500 || status === 429 || status === 408;
}

/** Marks an answer that refuses all our calls, and not only this sentinel's deploy. */
function apiFailure({ status }: Answer): { isOfApi?: true } {
  return status < 400 || status === 401 || status === 403 ? { isOfApi: true } : {};
}

function refusal({ status }: Answer): string {
  if (status < 400) {
    const code: ReasonCode = "unreachable";
    return `${code}: the fleet answered ${status}, and redirects are not followed`;
  }
  const code: ReasonCode =
    status === 401 || status === 403
      ? "unauthorized"
      : status === 404 || status === 410
        ? "target_gone"
        : status === 409
          ? "conflict"
          : "config_invalid";
  return `${code}: the fleet answered ${status}`;
}
