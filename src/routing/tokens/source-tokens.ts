/** Calls to the incident service for token rotation: read a source's token, test it. */
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { backoffMs } from "#kernel/async.ts";
import { parseJson, readBody, withoutSecret } from "#kernel/body.ts";
import { errors, request } from "#kernel/http.ts";
import { cleanWords } from "#kernel/log.ts";
import { listOf } from "#kernel/setting.ts";
import { readRetryAfter } from "#kernel/time.ts";

export type SourceAddress = {
  /** Part of the URL to which the source's events are posted. */
  kind: "alertmanager" | "checkly" | "http";
  /** Empty: the source is found by its title. */
  id: string;
  title: string;
};

export type SourceTokens = {
  /** The source's id, and the token with which it accepts events. */
  read: (source: SourceAddress) => Promise<{ id: string; token: string }>;
  /** Sends an event that resolves an alert that was never open. Throws when it is not accepted. */
  tryOut: (source: { kind: SourceAddress["kind"]; id: string }, token: string) => Promise<void>;
};

/** A refusal or a failed call, without the answer's body; `message` says what to do. */
class IncidentServiceError extends Error {}

type Settings = {
  url: string;
  apiKey: string;
  timeoutMs?: number;
  /** Number of attempts while errors look temporary. */
  attempts?: number;
};

const Source = z.object({ id: z.string(), name: z.string(), secret_token: z.string().optional() });

export function createSourceTokens(settings: Settings): SourceTokens {
  const read = async (path: string) => {
    const token = settings.apiKey;
    const answer = await callWithRetries({ ...settings, method: "GET", path, token });
    if (answer.status === 200) return answer;
    throw refusal(answer, "incident.api_key");
  };
  return {
    async read(source) {
      const { alert_source: found } = await findSource(source, read);
      const token = found.secret_token ?? "";
      if (token !== "") return { id: found.id, token };
      throw new IncidentServiceError(
        `the incident service does not show the token of ${source.title}: give the key of incident.api_key the scope to update alert sources`,
      );
    },
    async tryOut({ kind, id }, token) {
      const path = `/v2/alert_events/${kind}/${encodeURIComponent(id)}`;
      const body = testEvent(kind, new Date());
      const answer = await callWithRetries({ ...settings, method: "POST", path, token, body });
      if (answer.status < 200 || answer.status > 299) throw refusal(answer, "the source's token");
      // A page or a login form of a proxy in between does not prove the token.
      parse(Acceptance, answer);
    },
  };
}

const Acceptance = z.looseObject({ status: z.literal("success") });

const One = z.object({ alert_source: Source });
const All = z.object({ alert_sources: listOf(Source, 100_000) });

async function findSource(
  { kind, id, title }: SourceAddress,
  read: (path: string) => Promise<Answer>,
): Promise<z.infer<typeof One>> {
  if (id === "") {
    const { alert_sources: all } = parse(All, await read("/v2/alert_sources"));
    const named = all.filter(({ name }) => name === title);
    const [only] = named;
    if (only !== undefined && named.length === 1)
      return findSource({ kind, id: only.id, title }, read);
    const count = named.length === 0 ? "no alert source is" : `${named.length} alert sources are`;
    throw new IncidentServiceError(`${count} named ${title}: set its id in the settings`);
  }
  return parse(One, await read(`/v2/alert_sources/${encodeURIComponent(id)}`));
}

function parse<Schema extends z.ZodType>(schema: Schema, { body }: Answer): z.infer<Schema> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  throw new IncidentServiceError(
    "the answer is not from the incident service: is incident.url its address?",
  );
}

type Answer = { status: number; retryAfter: string | undefined; body: unknown };

type Call = Settings & {
  method: "GET" | "POST";
  path: string;
  token: string;
  body?: object;
};

/** Bounds the service's `retry-after` too, because a person waits for this command. */
const longestWaitMs = 30_000;
const backoff = { firstMs: 500, longestMs: longestWaitMs };

async function callWithRetries(call: Call): Promise<Answer> {
  const { attempts = 4 } = call;
  for (let attempt = 1; ; attempt += 1) {
    const isLast = attempt >= attempts;
    const answer = await send(call).catch((error: unknown) => {
      if (isLast) throw error;
    });
    if (answer !== undefined && (isLast || !isTemporary(answer.status))) return answer;
    await delay(waitMs(attempt, answer?.retryAfter));
  }
}

function isTemporary(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

function waitMs(attempt: number, retryAfter: string | undefined): number {
  const wantedMs = readRetryAfter(retryAfter, Date.now());
  if (wantedMs === undefined) return backoffMs(attempt - 1, backoff);
  return Math.min(wantedMs, longestWaitMs);
}

/** Generous: a list of sources is a few KB. */
const longestAnswerBytes = 4 * 1024 * 1024;

async function send({ url, path, method, token, body, timeoutMs = 10_000 }: Call): Promise<Answer> {
  try {
    const answer = await request(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const retryAfter = [answer.headers["retry-after"]].flat()[0];
    const bytes = await readBody(answer.body, longestAnswerBytes);
    if (bytes === undefined) throw new errors.ResponseExceededMaxSizeError();
    return {
      ...{ status: answer.statusCode, retryAfter },
      body: parseJson(withoutSecret(bytes, token)),
    };
  } catch (cause) {
    const { code, name } = cause as NodeJS.ErrnoException;
    throw new IncidentServiceError(
      `the incident service cannot be reached (${code ?? name}): is incident.url its address?`,
      { cause },
    );
  }
}

const Envelope = z.object({ request_id: z.string().max(200) });

/** Makes an error that quotes only the request id of the body. */
function refusal({ status, body }: Answer, what: string): IncidentServiceError {
  const { data } = Envelope.safeParse(body);
  const request = data === undefined ? "" : `, request ${cleanWords(data.request_id, 200)}`;
  const advice: Record<number, string> = {
    401: `${what} is not valid`,
    403: `${what} may not do this`,
    404: "it has no such alert source: is its id in the settings right?",
    429: "too many requests; try again later",
  };
  const reason = advice[status] ?? "try again later";
  return new IncidentServiceError(`the incident service answered ${status} (${reason}${request})`);
}

const title = "[test] Vedette tests a token";
const key = "vedette-token-test";

/** The body in the format of the source's kind. */
function testEvent(kind: "alertmanager" | "checkly" | "http", now: Date): object {
  return kind === "alertmanager" ? alertmanagerEvent(now) : plainEvent();
}

function plainEvent(): object {
  return { title, description: title, deduplication_key: key, status: "resolved", metadata: {} };
}

/** The payload of Alertmanager's webhook, version 4. */
function alertmanagerEvent(now: Date): object {
  const labels = { alertname: "VedetteTokenTest" };
  const annotations = { summary: title };
  const at = now.toISOString();
  return {
    version: "4",
    groupKey: `{}:{alertname="${labels.alertname}"}`,
    truncatedAlerts: 0,
    status: "resolved",
    receiver: "vedette",
    groupLabels: labels,
    commonLabels: labels,
    commonAnnotations: annotations,
    externalURL: "",
    alerts: [
      {
        status: "resolved",
        labels,
        annotations,
        startsAt: at,
        endsAt: at,
        generatorURL: "",
        // 16 hex digits, as in every alert of Alertmanager.
        fingerprint: Buffer.from("vdttoken").toString("hex"),
      },
    ],
  };
}
