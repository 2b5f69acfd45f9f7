/** The request of an API check, with its secrets filled in. */
import type { RunnableCheck } from "#monitor/contract.ts";

/** The value of a secret; undefined: it is not set. */
export type ReadSecret = (name: string) => string | undefined;

export type ProbeRequest = {
  method: RunnableCheck["method"];
  url: string;
  headers: Record<string, string>;
  body: string | null;
};

/** A longer answer is a failure: no check needs it. */
export const maxBodyBytes = 1024 * 1024;

const placeholder = /\{\{([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)\}\}/g;

/** The request to send: replaces each `{{NAME}}` in address, headers and body by the secret. */
export function buildRequest(
  check: RunnableCheck,
  { baseUrl, readSecret }: { baseUrl: string; readSecret: ReadSecret },
): ProbeRequest {
  const value = (name: string) => readSecret(name) ?? "";
  const fill = (text: string) => text.replace(placeholder, (_, name: string) => value(name));
  const fillAddress = (text: string) =>
    text.replace(placeholder, (_, name: string) => encodeURIComponent(value(name)));
  const { headers, body } = describeRequest(check);
  const filled = Object.entries(headers).map(([name, value]) => [name, fill(value)]);
  return {
    method: check.method,
    url: fillAddress(addressOf(check, baseUrl)),
    headers: Object.fromEntries(filled),
    body: body === null ? null : JSON.stringify(fillDeep(body, fill)),
  };
}

/** The whole address of a check, with its placeholders. */
export function addressOf({ path }: Pick<RunnableCheck, "path">, baseUrl: string): string {
  return path.startsWith("/") ? `${baseUrl}${path}` : path;
}

/** The headers and body of the definition, with their placeholders, and the content type of a body. */
export function describeRequest(check: RunnableCheck): Pick<RunnableCheck, "headers" | "body"> {
  const json = check.body === null ? {} : { "content-type": "application/json" };
  return { headers: { ...json, ...check.headers }, body: check.body };
}

/** The names of the secrets that the check needs. */
export function secretsOf({ path, headers, body }: RunnableCheck): string[] {
  const text = JSON.stringify([path, headers, body]);
  return [...new Set([...text.matchAll(placeholder)].map(([, name = ""]) => name))];
}

/** Fills values, not JSON text: a quote in a secret must not end a string. */
function fillDeep(value: unknown, fill: (text: string) => string): unknown {
  if (typeof value === "string") return fill(value);
  if (Array.isArray(value)) return value.map((entry) => fillDeep(entry, fill));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [name, fillDeep(entry, fill)]),
  );
}
