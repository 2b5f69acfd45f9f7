/** The client by which a runner calls the gateway. */
import { parseJson, readBody } from "#kernel/body.ts";
import { request } from "#kernel/http.ts";
import { cleanText } from "#kernel/text.ts";
import type { CheckResult } from "#monitor/contract.ts";
import { type KindName, kindNames, kinds } from "#monitor/kinds/contract.ts";
import { reportPath, Work, workPath } from "./contract.ts";

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
      const answer = await post(workPath, { kinds: kindNames });
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

/** The checks that this version knows, and the unknown words of the others. What is no answer stays as it is. */
export function splitByKind(answer: unknown): { known: unknown; unknownKinds: string[] } {
  const { checks } = (answer ?? {}) as { checks?: unknown };
  if (!Array.isArray(checks)) return { known: answer, unknownKinds: [] };
  const unknown = new Set<string>();
  const known = checks.filter((check: Record<string, unknown> | null) => {
    const word = findUnknown(check ?? {});
    if (word !== undefined && unknown.size < maxNamedKinds) unknown.add(cleanText(word, 20));
    return word === undefined;
  });
  return { known: { ...(answer as object), checks: known }, unknownKinds: [...unknown].sort() };
}

/** More are not named. */
const maxNamedKinds = 20;

/** The kind of a check, or another word of its kind, that is none of those that this version knows. */
function findUnknown(check: Record<string, unknown>): string | undefined {
  const { kind } = check;
  if (typeof kind !== "string") return undefined;
  if (!Object.hasOwn(kinds, kind)) return kind;
  for (const [name, schema] of Object.entries(kinds[kind as KindName].fields)) {
    const given = check[name];
    if (typeof given !== "string") continue;
    if (schema.safeParse(given).error?.issues[0]?.code === "invalid_value") return given;
  }
  return undefined;
}
