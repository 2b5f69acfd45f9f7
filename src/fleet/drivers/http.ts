/** Any fleet behind a small HTTP protocol (design, section 3 "Sentinels"). */
import { Agent, request } from "undici";
import { z } from "zod";
import type { ReasonCode } from "#fleet/contract.ts";
import { type Driver, type ListedSentinel, type Observation, UnreachableError } from "./driver.ts";

export type HttpDriverSettings = { url: string; token: string };

const Page = z.object({
  sentinels: z.array(
    z.object({
      id: z.string().min(1),
      region: z.string(),
      image: z.string(),
      running_image: z.string().optional(),
      healthy: z.boolean(),
    }),
  ),
  next_cursor: z.string().nullish(),
});

const Reported = z.object({
  id: z.string(),
  image: z.string(),
  running_image: z.string().nullish(),
  status: z.enum(["progressing", "ready", "failed"]),
  reason: z.string().nullish(),
});

const pageSize = 500;

/** 1,000,000 sentinels: more is a cursor that runs in circles. */
const maxPages = 2_000;

const callTimeoutMs = 30_000;

export function createHttpDriver(settings: HttpDriverSettings): Driver {
  const agent = new Agent({
    connect: { timeout: 5_000 },
    headersTimeout: callTimeoutMs,
    bodyTimeout: callTimeoutMs,
    connections: 64,
  });
  const call = (path: string, body?: object) => callFleet({ ...settings, agent }, path, body);
  return {
    list: (signal) => listAll(call, signal),
    apply: async ({ sentinelId, image, deployId }) => {
      const answer = await call(sentinelPath(sentinelId), { image, deploy_id: deployId });
      return answer.status < 300 ? {} : { failure: refusal(answer) };
    },
    observe: async ({ sentinelId, image }) => {
      const answer = await call(sentinelPath(sentinelId));
      if (answer.status >= 300) return { status: "failed", reason: refusal(answer) };
      return judge(parse(Reported, answer.body), image);
    },
    start: async () => {},
    stop: () => agent.destroy(),
  };
}

type Answer = { status: number; body: unknown };
type Call = (path: string, body?: object) => Promise<Answer>;

async function listAll(call: Call, signal?: AbortSignal): Promise<ListedSentinel[]> {
  const sentinels: ListedSentinel[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    signal?.throwIfAborted();
    const query = new URLSearchParams({ limit: String(pageSize), ...(cursor && { cursor }) });
    const answer = await call(`/sentinels?${query}`);
    if (answer.status >= 300) throw new UnreachableError(refusal(answer));
    const { sentinels: more, next_cursor } = parse(Page, answer.body);
    sentinels.push(...more);
    if (!next_cursor) return sentinels;
    cursor = next_cursor;
  }
  throw new UnreachableError(`unreachable: the fleet's list has no end after ${maxPages} pages`);
}

/**
 * Ready means that this image runs: a fleet that is still at another deploy reports that one's
 * status, which says nothing about ours.
 */
function judge(reported: z.infer<typeof Reported>, image: string): Observation {
  const running = reported.running_image ?? undefined;
  if (reported.image !== image) return { status: "progressing", running_image: running };
  if (reported.status === "ready" && running !== undefined && running !== image) {
    return { status: "progressing", running_image: running };
  }
  const reason = reported.reason ?? undefined;
  return { status: reported.status, running_image: running, reason };
}

function sentinelPath(id: string): string {
  return `/sentinels/${encodeURIComponent(id)}`;
}

type Target = HttpDriverSettings & { agent: Agent };

async function callFleet(target: Target, path: string, body?: object): Promise<Answer> {
  const headers = {
    authorization: `Bearer ${target.token}`,
    accept: "application/json",
    ...(body !== undefined && { "content-type": "application/json" }),
  };
  try {
    const answer = await request(`${target.url}${path}`, {
      dispatcher: target.agent,
      method: body === undefined ? "GET" : "PUT",
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    if (isPassing(answer.statusCode)) {
      throw new UnreachableError(`unreachable: the fleet answered ${answer.statusCode}`);
    }
    return { status: answer.statusCode, body: readJson(text) };
  } catch (error) {
    if (error instanceof UnreachableError) throw error;
    const { code = "error" } = error as NodeJS.ErrnoException;
    throw new UnreachableError(`unreachable: ${code} on the way to the fleet`, { cause: error });
  }
}

/** Trouble that may pass by itself: not a word about this deploy. */
function isPassing(status: number): boolean {
  return status >= 500 || status === 429 || status === 408;
}

function refusal({ status }: Answer): string {
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

function readJson(text: string): unknown {
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function parse<T>(schema: z.ZodType<T>, body: unknown): T {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue?.path.join(".") || "body";
  throw new UnreachableError(`unreachable: the fleet's answer is malformed at ${where}`);
}
