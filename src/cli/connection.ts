/** Calls a running Vedette for the command line. */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { z } from "zod";
import { type CronJobName, cronHandlers, cronServiceName } from "#cron/contract.ts";
import { defaultFleet, FleetList, fleetService } from "#fleet/contract.ts";
import { checkReaders, checkReads } from "#monitor/results/contract.ts";
import { type RolloutHandlerName, rolloutHandlers, rolloutServiceName } from "#rollout/contract.ts";
import { ask, ConnectionError, refusalOf } from "./answer.ts";
import { findTarget, type Target, type TargetOptions, tokenRefused } from "./target.ts";

type Output<Handler extends RolloutHandlerName> = z.infer<
  (typeof rolloutHandlers)[Handler]["output"]
>;

export type Connection = ReturnType<typeof connect>;

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

    /** The fleet of the option; undefined: the default fleet. */
    fleet: options.fleet,

    cronStatus: (job: CronJobName) => cron(job, "Status"),

    /** Resolves when the run has ended, however long that takes. */
    cronRun: (job: CronJobName) => cron(job, "Run", { idempotencyKey: randomUUID() }),

    /** Calls a handler of the rollout that answers at once. Throws the refusal, or `ConnectionError`. */
    rollout,

    /** Answers when the rollout ended or paused. Retries by one idempotency key until the signal aborts: called once. */
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

    /** Answers when the work is over. A broken connection is retried by the same idempotency key: the call is made once. */
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

async function post(target: Target, address: string, call: Call): Promise<unknown> {
  const { idempotencyKey, body, signal } = call;
  const { url, token } = target;
  const answer = await ask(url, {
    method: "POST",
    path: `/${address}`,
    token,
    body,
    ...(idempotencyKey !== undefined && { headers: { "idempotency-key": idempotencyKey } }),
    ...(idempotencyKey !== undefined && { timeoutMs: 0 }),
    ...(signal !== undefined && { signal }),
  });
  if (answer.status < 300) return answer.body;
  if (answer.status === 401) throw tokenRefused(target);
  // A refusal by the rollout itself is stored under its idempotency key: a retry would get the same refusal.
  throw refusalOf(url, answer, "registry_unavailable");
}

function read<Schema extends z.ZodType>(schema: Schema, answer: unknown): z.infer<Schema> {
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  throw new Error(
    "the answer is not from Vedette, or of another version: is the address that of control?",
  );
}
