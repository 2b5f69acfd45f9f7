/** Verifies a caller's key at the public API. */
import { isThisMachine, ownAddresses, portOf } from "#kernel/address.ts";
import { readBody } from "#kernel/body.ts";
import { ProblemError } from "#kernel/problem.ts";
import { isServedByOwner } from "#kernel/process.ts";
import { type Client, loadClient } from "./send-upstream.ts";

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
  { key, client: caller }: { key: string; client: string },
): Promise<Answer> {
  try {
    const client = await loadClient();
    const answer = await client.request(`${api.url}/v2/keys.verifyKey`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${api.rootKey}`,
        "content-type": "application/json",
        // The API checks this address against the key's list of addresses.
        "x-forwarded-for": caller,
      },
      body: JSON.stringify({ key }),
      dispatcher: ownAgent(client),
      signal: AbortSignal.timeout(verifyTimeoutMs),
    });
    if (answer.statusCode === 200) return JSON.parse(await readText(answer.body)) as Answer;
    await answer.body.dump();
    throw new Error(`the API answered ${answer.statusCode}`);
  } catch (cause) {
    const detail = "keys cannot be verified at the moment; try again later";
    throw new ProblemError({ status: 503, code: "unavailable", detail }, { cause });
  }
}

let agent: InstanceType<Client["Agent"]> | undefined;

/** Another user's program may have the port of an API that is away: it gets neither the root key nor the keys of callers. */
function ownAgent({ Agent, buildConnector }: Client) {
  const connect = buildConnector({ allowH2: false });
  agent ??= new Agent({
    connect: (options, callback) =>
      connect(options, (error, socket) => {
        if (error !== null) return callback(error, null);
        const port = portOf(options);
        // At another of its addresses a container may serve the port, which then has no listener here.
        const isProven = isThisMachine(options.hostname)
          ? isServedByOwner(port, 1)
          : !ownAddresses().includes(socket.remoteAddress ?? "") || isServedByOwner(port);
        if (isProven) return callback(null, socket);
        socket.destroy();
        callback(new Error("another user's program has the port of the API"), null);
      }),
  });
  return agent;
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const read = await readBody(body, answerLimitBytes);
  if (read === undefined)
    throw new Error(`the API's answer has more than ${answerLimitBytes} bytes`);
  return read.toString();
}
