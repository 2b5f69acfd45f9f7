/** The way of a runner to the gateway. */
import { request } from "undici";
import type { CheckResult } from "./contract.ts";
import { reportPath, Work, workPath } from "./runner-contract.ts";

const timeoutMs = 10_000;

/** The token is not that of any place: trying again changes nothing. */
export class RunnerRefusedError extends Error {}

/** What was sent is nothing that this control takes: neither does that change. */
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
    const text = await answer.body.text();
    if (answer.statusCode === 401) throw new RunnerRefusedError(`${control} refused the token`);
    if (answer.statusCode === 400) throw new ReportRefusedError(`${control} answered 400`);
    if (answer.statusCode >= 300) throw new Error(`${control} answered ${answer.statusCode}`);
    return JSON.parse(text);
  };
  return {
    async askForWork(): Promise<Work> {
      const parsed = Work.safeParse(await post(workPath, {}));
      if (parsed.success) return parsed.data;
      throw new Error(`${control} is no control of Vedette, or one of another version`);
    },
    async report(results: readonly CheckResult[]): Promise<void> {
      await post(reportPath, { results });
    },
  };
}
