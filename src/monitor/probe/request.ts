/** The request of a check, with its secrets filled in. */
import { isIPv6 } from "node:net";
import { type Binding, hostIn, type ReadSecret, requireMeant } from "#kernel/secrets.ts";
import type { RunnableCheck, RunnableOf } from "#monitor/contract.ts";
import type { Step } from "#monitor/kinds/contract.ts";

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

/**
 * The request to send: replaces each `{{NAME}}` in address, headers and body by the secret. Throws a
 * `MisdirectedSecret` if one of them may not go to where the request would.
 */
export function buildRequest(
  asked: RequestFields,
  { baseUrl, readSecret }: { baseUrl: string; readSecret: ReadSecret },
): ProbeRequest {
  const { fill, bindings } = createFill(readSecret);
  // Half of a surrogate pair has no encoding.
  const encode = (value: string) => encodeURIComponent(value.toWellFormed());
  const { headers, body } = describeRequest(asked);
  const filled = Object.entries(headers).map(([name, value]) => [name, fill(value)] as const);
  const address = addressOf(asked, baseUrl);
  const url = fill(address, encode);
  const request = {
    method: asked.method,
    url,
    headers: Object.fromEntries(filled),
    body: body === null ? null : JSON.stringify(fillDeep(body, fill)),
  };
  // A text that is no address is sent nowhere.
  if (!URL.canParse(url)) return request;
  requireMeant(bindings, { address: new URL(url), shown: hostIn(address), baseUrl });
  for (const [name, value] of filled) {
    if (name.toLowerCase() !== "host") continue;
    // A server of several hosts hands the request to the one that is named here.
    const named = readHost(value, new URL(url));
    requireMeant(bindings, { address: named, shown: headers[name] ?? "", baseUrl });
  }
  return request;
}

/** The address with another host; undefined: the text is none. */
function readHost(host: string, { protocol, pathname }: URL): URL | undefined {
  return (/^[^\s/?#@\\]+$/.test(host) && URL.parse(`${protocol}//${host}${pathname}`)) || undefined;
}

/** The text that a check of TCP sends. Throws as `buildRequest` does. */
export function buildText(
  { host, port, send }: Pick<RunnableOf<"tcp">, "host" | "port" | "send">,
  readSecret: ReadSecret,
): string | null {
  if (send === null) return null;
  const { fill, bindings } = createFill(readSecret);
  const text = fill(send);
  const shown = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  // An address with a zone, such as fe80::1%eth0, is in no URL.
  requireMeant(bindings, { address: URL.parse(`tcp://${shown}`) ?? undefined, shown });
  return text;
}

/** `fill`: a text with its placeholders filled in; one without a value is left out. `bindings`: of what was filled in so far. */
function createFill(readSecret: ReadSecret) {
  const bindings = new Set<Binding>();
  const fill = (text: string, encode = (value: string) => value) =>
    text.replace(placeholder, (_, name: string) => {
      const secret = readSecret(name);
      for (const binding of secret?.bindings ?? []) bindings.add(binding);
      return encode(secret?.value ?? "");
    });
  return { fill, bindings };
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
