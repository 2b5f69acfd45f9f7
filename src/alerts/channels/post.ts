/** One HTTP request to a channel, with limits on its time and on what is read of the answer. */
import type { Answer } from "#alerts/outcome.ts";
import { readBeginning } from "#kernel/body.ts";
import { request } from "#kernel/http.ts";
import type { Reach } from "#kernel/reach.ts";
import { credentialsIn } from "./secrets.ts";

type Post = {
  headers?: Record<string, string>;
  /** JSON, sent as it is. */
  body: string;
  timeoutMs: number;
  reach: Pick<Reach, "agent">;
};

/** No more of an answer is read: error codes are at the beginning. */
const readBytes = 16_384;

/** A redirect is an answer like any other: it is not followed. Throws when there is none in time. */
export async function postJson(address: URL, post: Post): Promise<Answer> {
  const { headers, body, timeoutMs, reach } = post;
  const answer = await request(withoutUser(address), {
    method: "POST",
    dispatcher: reach.agent,
    headers: { "content-type": "application/json", ...authorizationOf(address), ...headers },
    body,
    signal: AbortSignal.timeout(timeoutMs),
  });
  const beginning = await readBeginning(answer.body, readBytes);
  return {
    status: answer.statusCode,
    retryAfter: [answer.headers["retry-after"]].flat()[0] ?? null,
    body: new TextDecoder().decode(beginning),
  };
}

function withoutUser(address: URL): URL {
  const bare = new URL(address);
  bare.username = "";
  bare.password = "";
  return bare;
}

/** A secret address may name a user. */
function authorizationOf(address: URL): Record<string, string> {
  const { user, password } = credentialsIn(address);
  if (user === "" && password === "") return {};
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}` };
}
