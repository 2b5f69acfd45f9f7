/** Restate's admin API: SQL on its own tables, and what may be done to an invocation. */

import pLimit from "p-limit";
import { readBody } from "#kernel/body.ts";
import { requestRestate } from "#kernel/restate-address.ts";

const timeoutMs = 10_000;
const atOnce = 10;

/** Of an answer to a query: more than any has, and less than a process has room for. */
const mostBytes = 256 * 1024 * 1024;

/** Of why Restate refuses something. */
const mostReasonBytes = 64 * 1024;

export type RestateAdmin = ReturnType<typeof createRestateAdmin>;

type Verb = "kill" | "resume";

export function createRestateAdmin(adminUrl: string) {
  const each = pLimit(atOnce);
  return {
    async query<Row>(sql: string): Promise<Row[]> {
      const answer = await requestRestate(`${adminUrl}/query`, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json" },
        body: JSON.stringify({ query: sql }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      if (answer.statusCode >= 300) throw await refusal("the query", answer);
      const body = await readBody(answer.body, mostBytes);
      if (body === undefined) throw new Error("Restate's answer to a query is too long to read");
      return (JSON.parse(body.toString("utf8")) as { rows: Row[] }).rows;
    },

    /** Does the same to each. One that has ended meanwhile, or cannot have it done now, is no error. */
    async change(verb: Verb, invocations: readonly string[]): Promise<void> {
      const change = async (id: string) => {
        const answer = await requestRestate(`${adminUrl}/invocations/${id}/${verb}`, {
          method: "PATCH",
          signal: AbortSignal.timeout(timeoutMs),
        });
        if (isPassing(answer.statusCode)) throw await refusal(`${verb} of ${id}`, answer);
        await answer.body.dump();
      };
      await Promise.all(invocations.map((id) => each(() => change(id))));
    },
  };
}

/** Whether the same call may be taken the next time: the answer is about Restate, not about what was sent. */
export function isPassing(status: number): boolean {
  return status >= 500 || status === 408 || status === 429;
}

type Answer = Awaited<ReturnType<typeof requestRestate>>;

async function refusal(what: string, { statusCode, body }: Answer): Promise<Error> {
  return new Error(`Restate refused ${what}: ${statusCode} ${await readReason(body, 300)}`);
}

/** The beginning of what a refusal says, `chars` long at most; empty when it says too much. */
export async function readReason(body: Answer["body"], chars: number): Promise<string> {
  const text = await readBody(body, mostReasonBytes);
  return text?.toString("utf8").slice(0, chars) ?? "";
}
