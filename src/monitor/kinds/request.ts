/** The request of a check or step: its secrets are filled in. */
import { z } from "zod";
import { type Binding, hostIn, type ReadSecret, requireMeant } from "#kernel/secrets.ts";
import { Assertion, type Response } from "./assertions.ts";
import type { Observation, TimeLimit } from "./observe.ts";

export type ProbeRequest = {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string | null;
};

/** The time is from the start to the last byte of the answer. */
export type ProbeLimits = TimeLimit & {
  /** A longer answer is a failure. */
  maxBodyBytes: number;
};

/** Makes a request. Never throws: an error is an outcome. Does not follow redirects. */
export type Requester = (
  request: ProbeRequest,
  limits: ProbeLimits,
) => Promise<Observation<Response>>;

export const requestFields = {
  /** Appended to the base URL; a whole address stays as it is. */
  path: z.string(),
  headers: z.record(z.string(), z.string()),
  /** Sent as JSON; null: no body. */
  body: z.record(z.string(), z.unknown()).nullable(),
  assertions: z.array(Assertion),
};
type RequestFields = z.infer<z.ZodObject<typeof requestFields>>;

/** A longer answer is a failure: no check needs it. */
export const maxBodyBytes = 1024 * 1024;

/** A secret, or in lower case what a step took from its answer. */
const placeholder = /\{\{([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*|[a-z][a-z0-9]*(?:_[a-z0-9]+)*)\}\}/g;

/** Replaces each `{{NAME}}` by the secret. Throws a `MisdirectedSecret` if one may not go to that server. */
export function buildRequest(
  asked: Omit<RequestFields, "assertions"> & { method: string },
  { baseUrl, readSecret }: { baseUrl: string; readSecret: ReadSecret },
): ProbeRequest {
  const { fill, bindings } = createFill(readSecret);
  // Half of a surrogate pair has no encoding.
  const encode = (value: string) => encodeURIComponent(value.toWellFormed());
  const { headers, body } = describeRequest(asked);
  const address = addressOf(asked, baseUrl);
  const url = fill(address, encode);
  const filled = Object.entries(headers).map(([name, value]) => [name, fill(value)] as const);
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

/** `fill`: a text with its placeholders filled in; one without a value is left out. `bindings`: of what was filled in so far. */
export function createFill(readSecret: ReadSecret) {
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

/** The host of an address; none while it is unknown. */
export function hostsIn(address: string): string[] {
  return [URL.parse(address)?.hostname ?? []].flat();
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

/** Fills values, not JSON text: a quote in a secret must not end a string. */
function fillDeep(value: unknown, fill: (text: string) => string): unknown {
  if (typeof value === "string") return fill(value);
  if (Array.isArray(value)) return value.map((entry) => fillDeep(entry, fill));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [name, fillDeep(entry, fill)]),
  );
}
