/** Asks GitHub's API, or one that answers as it does, with limits of time and size. */
import pRetry from "p-retry";
import { CiTrouble } from "#ci/trouble.ts";
import { parseJson, readBody, withoutSecret } from "#kernel/body.ts";
import { Agent, errors, request } from "#kernel/http.ts";

/** `timeoutMs`: of one request. */
export type Access = { apiUrl: string; token: string; timeoutMs?: number };

/** The JSON of an answer; undefined for 404 and 422, which an unknown commit has. Throws `CiTrouble`. */
export type Ask = (path: string) => Promise<unknown>;

/** 100 check runs have about half a megabyte. */
const largestAnswer = 4 * 1_024 * 1_024;

export function createAsk(api: Access): Ask {
  const { timeoutMs = 8_000 } = api;
  const dispatcher = new Agent({ connect: { timeout: timeoutMs }, maxResponseSize: largestAnswer });
  const asked = { ...api, timeoutMs };
  return (path) => pRetry(() => ask(`${api.apiUrl}/${path}`, asked, dispatcher), attempts);
}

const attempts = { retries: 2, minTimeout: 300, shouldRetry: isTransient };

function isTransient({ error }: { error: Error }): boolean {
  return error instanceof CiTrouble && error.isBrief;
}

async function ask(
  address: string,
  { token, timeoutMs }: Required<Access>,
  dispatcher: Agent,
): Promise<unknown> {
  const { host } = new URL(address);
  try {
    const { statusCode, body } = await request(address, {
      dispatcher,
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        accept: "application/vnd.github+json",
        "x-github-api-version": "2022-11-28",
        ...(token !== "" && { authorization: `Bearer ${token}` }),
      },
    });
    const whole = await readBody(body, largestAnswer);
    if (whole === undefined) throw new errors.ResponseExceededMaxSizeError();
    const answer = parseJson(withoutSecret(whole, token));
    if (statusCode === 404 || statusCode === 422) return undefined;
    if (statusCode !== 200) throw refuseStatus(statusCode, host);
    if (answer === undefined) throw new CiTrouble(`${host} answers no JSON`);
    return answer;
  } catch (error) {
    if (error instanceof CiTrouble) throw error;
    const { name, code } = error as NodeJS.ErrnoException;
    const why = name === "TimeoutError" ? `no answer in ${timeoutMs / 1_000} s` : (code ?? name);
    const isBrief = code !== "UND_ERR_RES_EXCEEDED_MAX_SIZE";
    throw new CiTrouble(`${host} cannot be asked (${why})`, { isBrief });
  }
}

function refuseStatus(status: number, host: string): CiTrouble {
  if (status === 401 || status === 403) {
    const detail = `${host} answered ${status}: ci.commit.token gives no access, or has no requests left`;
    return new CiTrouble(detail);
  }
  const isBrief = status === 429 || status >= 500;
  return new CiTrouble(`${host} answered ${status}`, { isBrief });
}
