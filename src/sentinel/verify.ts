/** Verifies a caller's key at the public API. */
import { readBody } from "#kernel/body.ts";
import "#kernel/http.ts";
import { ProblemError } from "#kernel/problem.ts";

type VerifiedKey = { keyId: string };

/** `client`: the address that the key is used from. */
export type VerifyKey = (key: string, client: string) => Promise<VerifiedKey>;

const verifyTimeoutMs = 5_000;

/** An answer may have the metadata of a key and of its identity, each up to a MiB of unescaped text. */
const answerLimitBytes = 16 * 1024 * 1024;

type Answer = { data?: { valid?: boolean; code?: string; keyId?: string } };

/** The answer to the caller, by the code with which the API refuses a key. */
const refusals: Record<string, { status: number; detail: string }> = {
  RATE_LIMITED: { status: 429, detail: "this key is over its rate limit; try again later" },
  USAGE_EXCEEDED: { status: 429, detail: "this key has no credits left" },
  FORBIDDEN: { status: 403, detail: "this key may not be used from here" },
  INSUFFICIENT_PERMISSIONS: { status: 403, detail: "this key lacks a permission" },
  DISABLED: { status: 403, detail: "this key is disabled" },
  EXPIRED: { status: 401, detail: "this key has expired" },
  NOT_FOUND: { status: 401, detail: "this key is not known" },
};

/** Throws a `ProblemError`: 401, 403 or 429 for a bad key, 503 when the API gives no answer. */
export function createVerifyKey(api: { url: string; rootKey: string }): VerifyKey {
  return async (key, client) => {
    const { data } = await callApi(api, { key, client });
    if (data?.valid === true && data.keyId !== undefined) return { keyId: data.keyId };
    const known = refusals[data?.code ?? ""];
    const { status, detail } = known ?? { status: 401, detail: "this key is not accepted" };
    throw new ProblemError({ status, code: (data?.code ?? "unauthorized").toLowerCase(), detail });
  };
}

async function callApi(
  api: { url: string; rootKey: string },
  { key, client }: { key: string; client: string },
): Promise<Answer> {
  try {
    const answer = await fetch(`${api.url}/v2/keys.verifyKey`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${api.rootKey}`,
        "content-type": "application/json",
        // The API checks this address against the key's list of addresses.
        "x-forwarded-for": client,
      },
      body: JSON.stringify({ key }),
      redirect: "error",
      signal: AbortSignal.timeout(verifyTimeoutMs),
    });
    if (answer.status === 200) return JSON.parse(await readText(answer)) as Answer;
    await answer.body?.cancel();
    throw new Error(`the API answered ${answer.status}`);
  } catch (cause) {
    const detail = "keys cannot be verified at the moment; try again later";
    throw new ProblemError({ status: 503, code: "unavailable", detail }, { cause });
  }
}

async function readText(answer: Response): Promise<string> {
  const body = await readBody(answer.body ?? [], answerLimitBytes);
  if (body === undefined)
    throw new Error(`the API's answer has more than ${answerLimitBytes} bytes`);
  return body.toString();
}
