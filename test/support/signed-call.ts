/** Calls Restate's own ingress as the gateway does: with the caller's name and its signature. */
import { createReadActor, signActor, targetOfPath } from "#kernel/actor.ts";

const key = Buffer.alloc(32, 7);

/** For the workers that these calls reach. */
export const readActor = createReadActor(key);

/** `by`: the caller; undefined: a call that did not come through the gateway. */
export function postSigned(url: string, body: unknown, by?: string): Promise<Response> {
  const text = JSON.stringify(body);
  const target = targetOfPath(new URL(url).pathname) ?? "";
  const signed = by === undefined ? {} : signActor(by, { target, body: text }, key);
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...signed },
    body: text,
  });
}
