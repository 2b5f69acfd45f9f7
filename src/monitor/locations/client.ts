/** The client by which a runner calls the gateway. */
import { parseJson, readBody } from "#kernel/body.ts";
import { request } from "#kernel/http.ts";
import type { CheckResult } from "#monitor/contract.ts";
import { checkKinds } from "#monitor/kinds/contract.ts";
import { reportPath, Work, workPath } from "./contract.ts";
import { splitByKind } from "./known-kinds.ts";

const timeoutMs = 10_000;

/** The work of ten thousand checks is some MB. */
const longestAnswerBytes = 32 * 1024 * 1024;

/** Statuses that a retry of the same request does not change. */
const refusals = new Set([400, 413, 415]);

/** The token is unknown: a retry does not help. */
export class RunnerRefusedError extends Error {}

/** Control does not accept this report: a retry does not help. */
export class ReportRefusedError extends Error {}

export function createRunnerClient({ control, token }: { control: string; token: string }) {
  const post = async (path: string, body: object): Promise<unknown> => {
    const answer = await request(`${control}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await readBody(answer.body, longestAnswerBytes);
    const { statusCode: status } = answer;
    if (status === 401) throw new RunnerRefusedError(`${control} refused the token`);
    if (refusals.has(status)) throw new ReportRefusedError(`${control} answered ${status}`);
    if (status >= 300) throw new Error(`${control} answered ${status}`);
    if (text === undefined) {
      throw new Error(`the answer of ${control} is longer than ${longestAnswerBytes} bytes`);
    }
    const read = parseJson(text);
    if (read !== undefined) return read;
    throw new Error(`${control} is not a control of Vedette: its answer is not JSON`);
  };
  return {
    /** With the kinds of checks that are left out, since this version does not know them. */
    async fetchWork(): Promise<{ work: Work; unknownKinds: string[] }> {
      const answer = await post(workPath, { kinds: checkKinds });
      const { known, unknownKinds } = splitByKind(answer);
      const parsed = Work.safeParse(known);
      if (parsed.success) return { work: parsed.data, unknownKinds };
      throw new Error(`${control} is not a control of Vedette, or one of another version`);
    },
    async report(results: readonly CheckResult[]): Promise<void> {
      await post(reportPath, { results });
    },
  };
}
