/** Judges the answer of a request by its assertions, and takes values from it. */
import { parseJsonText } from "#kernel/body.ts";
import { codingsOf, findUnknown } from "#kernel/content-coding.ts";
import { parseJsonPath, valueAt } from "#kernel/json-path.ts";
import type { ProbeObservation } from "#monitor/contract.ts";
import { type Assertion, type Extraction, expandStatuses } from "#monitor/kinds/contract.ts";

export type Response = Extract<ProbeObservation["outcome"], { kind: "response" }>;

/** What is wrong with the answer, by the first assertion that does not hold; null: all hold. */
export function faultOfResponse(
  assertions: readonly Assertion[],
  response: Response,
): string | null {
  for (const assertion of assertions) {
    const fault = findFault(assertion, response);
    if (fault !== null) return assertion.source === "json" ? fault + hintAt(response) : fault;
  }
  return null;
}

/** Why nothing is found in a body, if that is its content coding; else empty. */
export function hintAt({ headers }: Response): string {
  const unknown = findUnknown(codingsOf(headers["content-encoding"]));
  return unknown === undefined ? "" : `: the body has an unknown content coding, ${show(unknown)}`;
}

function findFault(assertion: Assertion, response: Response): string | null {
  switch (assertion.source) {
    case "status":
      return expandStatuses(assertion.equals).includes(response.status)
        ? null
        : `answered ${response.status}, expected ${[assertion.equals].flat().join(" or ")}`;
    case "header": {
      const value = response.headers[assertion.name.toLowerCase()];
      if (value?.includes(assertion.contains)) return null;
      return `header ${assertion.name} is ${show(value)}, expected to contain ${show(assertion.contains)}`;
    }
    case "json": {
      const value = findInJson(response, assertion.path);
      if (value === assertion.equals) return null;
      return `${assertion.path} is ${show(value)}, expected ${show(assertion.equals)}`;
    }
  }
}

/** The value that a later step needs; undefined: the answer does not have it. */
export function extract(from: Extraction, response: Response): unknown {
  return from.source === "json"
    ? findInJson(response, from.path)
    : response.headers[from.name.toLowerCase()];
}

/** undefined: the body is not JSON or has no such member. */
function findInJson(response: Response, text: string): unknown {
  const path = parseJsonPath(text);
  return path && valueAt(path, parseBody(response));
}

/** Each body is read once, since it may be long and have many assertions. */
const parsed = new WeakMap<Response, unknown>();

function parseBody(response: Response): unknown {
  if (!parsed.has(response)) parsed.set(response, parseJsonText(response.body));
  return parsed.get(response);
}

/** Quotes a value of an answer; truncated, since that of a broken server may be long. */
export function show(value: unknown): string {
  if (value === undefined) return "absent";
  const text = toJson(value);
  // Half of a surrogate pair is no character, and Postgres refuses it in JSON.
  return text.length <= 80 ? text : `${text.slice(0, 79).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** An older Node cannot write what is nested in thousands of levels, though it can read it. */
function toJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return "nested too deeply to show";
  }
}
