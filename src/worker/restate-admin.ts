/** Restate's admin API: SQL on its own tables, and what may be done to an invocation. */

import pLimit from "p-limit";
import { requestRestate } from "#kernel/restate-address.ts";

const timeoutMs = 10_000;
const atOnce = 10;

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
      const body = await answer.body.text();
      if (answer.statusCode >= 300) throw refusal("the query", answer.statusCode, body);
      return (JSON.parse(body) as { rows: Row[] }).rows;
    },

    /** Does the same to each. One that has ended meanwhile, or cannot have it done now, is no error. */
    async change(verb: Verb, invocations: readonly string[]): Promise<void> {
      const change = async (id: string) => {
        const answer = await requestRestate(`${adminUrl}/invocations/${id}/${verb}`, {
          method: "PATCH",
          signal: AbortSignal.timeout(timeoutMs),
        });
        const body = await answer.body.text();
        if (isPassing(answer.statusCode))
          throw refusal(`${verb} of ${id}`, answer.statusCode, body);
      };
      await Promise.all(invocations.map((id) => each(() => change(id))));
    },
  };
}

/** Whether the same call may be taken the next time: the answer is about Restate, not about what was sent. */
export function isPassing(status: number): boolean {
  return status >= 500 || status === 408 || status === 429;
}

function refusal(what: string, status: number, body: string): Error {
  return new Error(`Restate refused ${what}: ${status} ${body.slice(0, 300)}`);
}
