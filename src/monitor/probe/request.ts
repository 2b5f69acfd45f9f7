/** The request of an API check, with its secrets filled in. */
import type { ApiCheck, SecretName } from "#monitor/contract.ts";

export type Secrets = Record<SecretName, string>;

export type ProbeRequest = {
  method: ApiCheck["method"];
  url: string;
  headers: Record<string, string>;
  body: string | null;
};

/** A longer answer is a failure: no check needs it. */
export const maxBodyBytes = 1024 * 1024;

const placeholder = /\{\{(KEY|ROOT_KEY)\}\}/g;

/** The request to send: replaces each `{{KEY}}` or `{{ROOT_KEY}}` in headers and body by the secret. */
export function buildRequest(
  check: ApiCheck,
  { baseUrl, secrets }: { baseUrl: string; secrets: Secrets },
): ProbeRequest {
  const fill = (text: string) => text.replace(placeholder, (_, name: SecretName) => secrets[name]);
  const { headers, body } = describeRequest(check);
  const filled = Object.entries(headers).map(([name, value]) => [name, fill(value)]);
  return {
    method: check.method,
    url: `${baseUrl}${check.path}`,
    headers: Object.fromEntries(filled),
    body: body === null ? null : JSON.stringify(fillDeep(body, fill)),
  };
}

/** The headers and body of the definition, with their placeholders, and the content type of a body. */
export function describeRequest(check: ApiCheck): Pick<ApiCheck, "headers" | "body"> {
  const json = check.body === null ? {} : { "content-type": "application/json" };
  return { headers: { ...json, ...check.headers }, body: check.body };
}

/** The secrets that the check needs. */
export function secretsOf(check: ApiCheck): SecretName[] {
  const text = JSON.stringify([check.headers, check.body]);
  return [...new Set([...text.matchAll(placeholder)].map((match) => match[1] as SecretName))];
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
