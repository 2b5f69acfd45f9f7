/** How the command line calls a running Vedette. */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { z } from "zod";
import { type CronJobName, cronHandlers, cronServiceName } from "#cron/contract.ts";
import { defaultFleet, FleetList, fleetService } from "#fleet/contract.ts";
import { parseJson } from "#kernel/body.ts";
import { request } from "#kernel/http.ts";
import { checkReaders, checkReads } from "#monitor/results/contract.ts";
import { type RolloutHandlerName, rolloutHandlers, rolloutServiceName } from "#rollout/contract.ts";
import { answerLimits, OversizeError, readAnswer } from "./answer.ts";
import { findTarget, type Target, type TargetOptions, tokenRefused } from "./target.ts";

/** The program did not answer; a retry may succeed. */
export class ConnectionError extends Error {}

type Output<Handler extends RolloutHandlerName> = z.infer<
  (typeof rolloutHandlers)[Handler]["output"]
>;

export type Connection = ReturnType<typeof connect>;

/** A little longer than the gateway's own timeout, so that the command shows the gateway's refusal. */
const answerTimeoutMs = 40_000;

const retryEveryMs = 1_000;

/** A program that restarts is available again within this many retries. */
const mostFailures = 120;

/** `fleet`: whose rollouts and sentinels; absent: the default fleet. */
export function connect(options: TargetOptions & { fleet?: string | undefined }) {
  const { fleet = defaultFleet } = options;
  const target = findTarget(options, process.env);

  const rollout = async <Handler extends RolloutHandlerName>(
    handler: Handler,
    body: object,
    call: Omit<Call, "body"> = {},
  ): Promise<Output<Handler>> => {
    const address = `${rolloutServiceName}/${fleet}/${handler}`;
    const { output } = rolloutHandlers[handler];
    return read(output, await post(target, address, { body, ...call })) as Output<Handler>;
  };

  const cron = async <Handler extends keyof typeof cronHandlers>(
    job: CronJobName,
    handler: Handler,
    call: Omit<Call, "body"> = {},
  ) => {
    const { output } = cronHandlers[handler];
    const answer = await post(target, `${cronServiceName}/${job}/${handler}`, {
      body: {},
      ...call,
    });
    return read(output, answer) as z.infer<(typeof cronHandlers)[Handler]["output"]>;
  };

  return {
    /** The address of control, without a trailing slash. */
    url: target.url,

    /** As the option names it; undefined: the default fleet. */
    fleet: options.fleet,

    cronStatus: (job: CronJobName) => cron(job, "Status"),

    /** Resolves when the run has ended, however long that takes. */
    cronRun: (job: CronJobName) => cron(job, "Run", { idempotencyKey: randomUUID() }),

    /** Calls a handler of the rollout that answers at once. Throws the refusal, or `ConnectionError`. */
    rollout,

    /**
     * Calls a handler that answers when the rollout has ended or paused. When the connection breaks it
     * retries with the same idempotency key, until the signal aborts: the call is made once.
     */
    rolloutToEnd: async <Handler extends RolloutHandlerName>(
      handler: Handler,
      body: object,
      signal: AbortSignal,
    ): Promise<Output<Handler>> => {
      const idempotencyKey = randomUUID();
      for (;;) {
        try {
          return await rollout(handler, body, { signal, idempotencyKey });
        } catch (error) {
          if (signal.aborted || !(error instanceof ConnectionError)) throw error;
        }
        await delay(retryEveryMs, undefined, { signal });
      }
    },

    /** Calls a handler that reads about checks. */
    checks: async <Handler extends keyof typeof checkReaders>(
      handler: Handler,
      body: z.input<(typeof checkReaders)[Handler]["input"]>,
      signal?: AbortSignal,
    ): Promise<z.infer<(typeof checkReaders)[Handler]["output"]>> => {
      const { output } = checkReaders[handler];
      const answer = await post(target, `${checkReads.name}/${handler}`, {
        body,
        ...(signal !== undefined && { signal }),
      });
      return read(output, answer) as z.infer<(typeof checkReaders)[Handler]["output"]>;
    },

    /** Calls a handler that answers at once: `address` is its path without the first slash. */
    call: async <Output extends z.ZodType>(
      address: string,
      body: object,
      output: Output,
    ): Promise<z.infer<Output>> => read(output, await post(target, address, { body })),

    /**
     * Calls a handler that answers when its work is over, however long that takes. When the connection
     * breaks it retries with the same idempotency key: the call is made once.
     */
    callToEnd: async <Output extends z.ZodType>(address: string, body: object, output: Output) =>
      read(output, await postToEnd(target, address, body)),

    sentinels: async (page: { limit: number; cursor?: string }): Promise<FleetList> =>
      read(
        FleetList,
        await post(target, `${fleetService.name}/List`, { body: { ...page, fleet } }),
      ),
  };
}

async function postToEnd(target: Target, address: string, body: object): Promise<unknown> {
  const idempotencyKey = randomUUID();
  for (let failures = 0; ; failures += 1) {
    try {
      return await post(target, address, { body, idempotencyKey });
    } catch (error) {
      if (failures === mostFailures || !(error instanceof ConnectionError)) throw error;
    }
    await delay(retryEveryMs);
  }
}

type Call = {
  body: object;
  signal?: AbortSignal;
  /** A call with a key has no timeout: it waits for as long as the work takes. */
  idempotencyKey?: string;
};

type Answer = { status: number; text: string };

async function post(target: Target, address: string, call: Call): Promise<unknown> {
  const answer = await send(target, address, call);
  const body = parseJson(Buffer.from(answer.text));
  if (answer.status < 300) return body;
  if (answer.status === 401) throw new Error(tokenRefused(target));
  const { detail, code } = (body ?? {}) as { detail?: string; code?: string };
  const message = detail ?? `${target.url} answered ${answer.status}`;
  // The gateway, or a proxy in front of it, answers so while something behind it is down. A refusal by the
  // rollout itself is stored under its idempotency key: a retry would get the same refusal.
  const mayRetry = [502, 503, 504].includes(answer.status) && code !== "registry_unavailable";
  throw mayRetry ? new ConnectionError(message) : new Error(message);
}

async function send(target: Target, address: string, call: Call): Promise<Answer> {
  const { signal, idempotencyKey } = call;
  const timeoutMs = idempotencyKey === undefined ? answerTimeoutMs : 0;
  try {
    const answer = await request(`${target.url}/${address}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${target.token}`,
        "content-type": "application/json",
        ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
      },
      body: JSON.stringify(call.body),
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      ...(signal !== undefined && { signal }),
    });
    return { status: answer.statusCode, text: await readAnswer(answer.body, answerLimits) };
  } catch (cause) {
    if (cause instanceof OversizeError) throw cause;
    const { code = "no answer" } = cause as { code?: string };
    throw new ConnectionError(`${target.url} cannot be reached (${code})`, { cause });
  }
}

function read<Schema extends z.ZodType>(schema: Schema, answer: unknown): z.infer<Schema> {
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  throw new Error(
    "the answer is not from Vedette, or of another version: is the address that of control?",
  );
}
