/** Restate's admin API: SQL queries on its tables, and changes of invocations. */
import pLimit from "p-limit";
import { readBody } from "#kernel/body.ts";
import type { Log } from "#kernel/log.ts";
import { requestRestate } from "#kernel/restate.ts";

const timeoutMs = 10_000;
const atOnce = 10;

/** The limit of an answer to a query: more than any has, and less than a process has memory for. */
const mostBytes = 256 * 1024 * 1024;

const mostReasonBytes = 64 * 1024;

export type RestateAdmin = ReturnType<typeof createRestateAdmin>;

type Verb = "kill" | "pause" | "resume" | "resume?deployment=latest";

export function createRestateAdmin(adminUrl: string) {
  const each = pLimit(atOnce);
  return {
    /** Returns the rows; a column that is NULL is absent. */
    async query<Row>(sql: string): Promise<Row[]> {
      const answer = await requestRestate(`${adminUrl}/query`, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json" },
        body: JSON.stringify({ query: sql }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      if (answer.statusCode >= 300) throw await refusal("the query", answer);
      const body = await readBody(answer.body, mostBytes);
      if (body === undefined) throw new Error(`Restate's answer has more than ${mostBytes} bytes`);
      return (JSON.parse(body.toString("utf8")) as { rows: Row[] }).rows;
    },

    /** Changes each invocation. Not an error: it has ended meanwhile, or cannot be changed now. */
    async change(verb: Verb, invocations: readonly string[]): Promise<void> {
      const change = async (id: string) => {
        const answer = await requestRestate(`${adminUrl}/invocations/${id}/${verb}`, {
          method: "PATCH",
          signal: AbortSignal.timeout(timeoutMs),
        });
        if (isTransient(answer.statusCode)) throw await refusal(`${verb} of ${id}`, answer);
        await answer.body.dump();
      };
      await Promise.all(invocations.map((id) => each(() => change(id))));
    },
  };
}

/** True if a retry may succeed: the status is about Restate's state, not about the request. */
export function isTransient(status: number): boolean {
  return status >= 500 || status === 408 || status === 429;
}

type Answer = Awaited<ReturnType<typeof requestRestate>>;

async function refusal(what: string, { statusCode, body }: Answer): Promise<Error> {
  return new Error(`Restate refused ${what}: ${statusCode} ${await readReason(body, 300)}`);
}

/** The first `chars` characters of a refusal's body; empty when it is longer than `mostReasonBytes`. */
export async function readReason(body: Answer["body"], chars: number): Promise<string> {
  const text = await readBody(body, mostReasonBytes);
  return text?.toString("utf8").slice(0, chars) ?? "";
}

const mostAtOnce = 5_000;

/** The names of our services, since other programs may use the same Restate. */
const ours = "vedette.v1.";

/** The SQL condition that a service is ours. */
export const isOurs = (column: string) => `${column} LIKE '${ours}%'`;

const findPaused = `
  SELECT id FROM sys_invocation
  WHERE status = 'paused' AND ${isOurs("target_service_name")} LIMIT ${mostAtOnce}`;

/** Continues invocations on the version that serves now. Restate moves those that are paused or suspended. */
export async function moveToServing(
  admin: RestateAdmin,
  invocations: readonly { id: string; status: string }[],
): Promise<void> {
  const retried = invocations.filter(({ status }) => status === "backing-off");
  await admin.change(
    "pause",
    retried.map(({ id }) => id),
  );
  await admin.change(
    "resume?deployment=latest",
    invocations.map(({ id }) => id),
  );
}

/** Resumes our paused invocations; call it once registered. Those that still fail are retried. Never throws. */
export async function resumePaused(admin: RestateAdmin, log: Log): Promise<void> {
  try {
    const paused = await admin.query<{ id: string }>(findPaused);
    await admin.change(
      "resume",
      paused.map(({ id }) => id),
    );
    if (paused.length > 0) log.info({ invocations: paused.length }, "paused invocations resumed");
  } catch (error) {
    log.warn({ detail: (error as Error).message }, "paused invocations not resumed");
  }
}
