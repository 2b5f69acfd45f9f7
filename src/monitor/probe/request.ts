/** The request of a check, with its secrets filled in. */
import type { RunnableCheck } from "#monitor/contract.ts";
import type { Step } from "#monitor/kinds/contract.ts";

/** The value of a secret, or of what a step took from its answer; undefined: it is not set. */
export type ReadSecret = (name: string) => string | undefined;

export type ProbeRequest = {
  method: Step["method"];
  url: string;
  headers: Record<string, string>;
  body: string | null;
};

/** What a check of HTTP and a step ask for. */
type RequestFields = Pick<Step, "method" | "path" | "headers" | "body">;

/** A longer answer is a failure: no check needs it. */
export const maxBodyBytes = 1024 * 1024;

const secret = /\{\{([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)\}\}/g;

/** A secret, or in lower case what a step took from its answer. */
const placeholder = /\{\{([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*|[a-z][a-z0-9]*(?:_[a-z0-9]+)*)\}\}/g;

/** The request to send: replaces each `{{NAME}}` in address, headers and body by the secret. */
export function buildRequest(
  asked: RequestFields,
  { baseUrl, readSecret }: { baseUrl: string; readSecret: ReadSecret },
): ProbeRequest {
  const fill = (text: string) => fillSecrets(text, readSecret);
  const fillAddress = (text: string) =>
    // Half of a surrogate pair has no encoding.
    fillSecrets(text, (name) => encodeURIComponent((readSecret(name) ?? "").toWellFormed()));
  const { headers, body } = describeRequest(asked);
  const filled = Object.entries(headers).map(([name, value]) => [name, fill(value)]);
  return {
    method: asked.method,
    url: fillAddress(addressOf(asked, baseUrl)),
    headers: Object.fromEntries(filled),
    body: body === null ? null : JSON.stringify(fillDeep(body, fill)),
  };
}

/** A text with its placeholders filled in; one without a value is left out. */
export function fillSecrets(text: string, readSecret: ReadSecret): string {
  return text.replace(placeholder, (_, name: string) => readSecret(name) ?? "");
}

/** The whole address of a check, with its placeholders. */
export function addressOf({ path }: Pick<RequestFields, "path">, baseUrl: string): string {
  return path.startsWith("/") ? `${baseUrl}${path}` : path;
}

/** The headers and body of the definition, with their placeholders, and the content type of a body. */
export function describeRequest(
  asked: Pick<RequestFields, "headers" | "body">,
): Pick<RequestFields, "headers" | "body"> {
  const json = { name: "content-type", value: "application/json" };
  const headers = asked.body === null ? asked.headers : withDefault(asked.headers, json);
  return { headers, body: asked.body };
}

/** The headers and one more, unless they have it, in whatever case. */
export function withDefault(
  headers: Record<string, string>,
  { name, value }: { name: string; value: string },
): Record<string, string> {
  const has = Object.keys(headers).some((given) => given.toLowerCase() === name);
  return has ? headers : { [name]: value, ...headers };
}

/** The names of the secrets that the check needs. */
export function secretsOf(check: RunnableCheck): string[] {
  const text = JSON.stringify(partsWithSecrets(check));
  return [...new Set([...text.matchAll(secret)].map(([, name = ""]) => name))];
}

function partsWithSecrets(check: RunnableCheck): unknown[] {
  switch (check.kind) {
    case "tcp":
      return [check.send];
    case "dns":
    case "tls":
      return [];
    case "steps":
      return check.steps.map(({ path, headers, body }) => [path, headers, body]);
    default:
      return [check.path, check.headers, check.body];
  }
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
