/** A check of HTTP: one request, and assertions on its answer. */
import { z } from "zod";
import { parseJsonPath, writeJsonPath } from "#kernel/json-path.ts";
import { type Assertion, expandStatuses, faultOfResponse } from "./assertions.ts";
import { lintSecrets } from "./fields.ts";
import { defineKind, failedBy, type HostedSettings } from "./kind.ts";
import {
  addressOf,
  buildRequest,
  describeRequest,
  hostsIn,
  maxBodyBytes,
  requestFields,
} from "./request.ts";
import { lintRequest, requestRow } from "./request-fields.ts";

const methods = z.enum(["GET", "POST"]);
const fields = { kind: z.literal("http"), method: methods, ...requestFields };
type HttpCheck = z.infer<z.ZodObject<typeof fields>>;

export const http = defineKind({
  fields,
  row: {
    // Before `default`, since a row without a kind has to be found by that.
    kind: z.literal("http").optional().default("http").describe("A request of HTTP."),
    method: methods.default("GET"),
    ...requestRow,
  },
  lint: (row, complain) => lintRequest(row, "id", complain),
  lintPlaceholders({ url, path, headers, body }, complain) {
    lintSecrets({ url, path, headers, body }, complain);
  },
  toCheck({ kind, method, url, path = "/", headers, body, assertions }) {
    return { kind, method, path: url ?? path, headers, body, assertions };
  },
  describe: ({ method, path }) => ({ method, path, details: [] }),
  build: (check, target) => void buildRequest(check, target),
  hostsOf: (check, baseUrl) => hostsIn(addressOf(check, baseUrl)),
  probe: async (check, { request, target, ...limits }) =>
    request(buildRequest(check, target), { ...limits, maxBodyBytes }),
  grade: ({ assertions }, { outcome }) => failedBy(faultOfResponse(assertions, outcome)),
  hosted: {
    findFaults({ assertions }) {
      const mixes = assertsFailure(assertions) && statusesOf(assertions).some((one) => one < 400);
      return mixes ? ["the hosted monitor takes statuses below 400 or from 400 on, not both"] : [];
    },
    write: (check, settings) => ({
      construct: "ApiCheck",
      imports: ["AssertionBuilder"],
      lines: [
        `shouldFail: ${assertsFailure(check.assertions)},`,
        `request: {\n${writeRequest(check, settings)}\n  },`,
      ],
    }),
  },
});

function writeRequest(check: HttpCheck, { baseUrl, secretPrefix }: HostedSettings): string {
  const name = (text: string) => text.replace(/\{\{(\w+)\}\}/g, `{{${secretPrefix}_$1}}`);
  const { headers, body } = describeRequest(check);
  const pairs = Object.entries(headers).map(
    ([key, value]) => `{ key: ${code(key)}, value: ${code(name(value))} }`,
  );
  const lines = [
    `method: ${code(check.method)},`,
    `url: ${code(name(addressOf(check, baseUrl)))},`,
    // The same as in our own probes; a redirect must not carry the secrets to another address.
    "followRedirects: false,",
    "skipSSL: false,",
    `headers: ${wrap(pairs, "    ")},`,
    ...(body === null ? [] : ['bodyType: "JSON",', `body: ${code(name(JSON.stringify(body)))},`]),
    `assertions: ${wrap(check.assertions.flatMap(writeAssertion), "    ")},`,
  ];
  return lines.map((line) => `    ${line}`).join("\n");
}

function writeAssertion(assertion: Assertion): string | string[] {
  switch (assertion.source) {
    case "status":
      return writeStatuses(expandStatuses(assertion.equals));
    case "header":
      return `AssertionBuilder.headers(${code(assertion.name)}).contains(${code(assertion.contains)})`;
    case "json": {
      const value = `AssertionBuilder.jsonBody(${code(writeJsonPath(parseJsonPath(assertion.path) ?? []))})`;
      return assertion.equals === null
        ? `${value}.isNull()`
        : `${value}.equals(${code(assertion.equals)})`;
    }
  }
}

/** The hosted monitor has no lists, but all of its assertions have to hold. */
function writeStatuses(statuses: readonly number[]): string[] {
  const [first = 200, last = first] = [statuses[0], statuses.at(-1)];
  if (first === last) return [`AssertionBuilder.statusCode().equals(${first})`];
  const between = Array.from({ length: last - first }, (_, index) => first + index);
  const gaps = between.filter((status) => !statuses.includes(status));
  return [
    `AssertionBuilder.statusCode().greaterThan(${first - 1})`,
    `AssertionBuilder.statusCode().lessThan(${last + 1})`,
    ...gaps.map((status) => `AssertionBuilder.statusCode().notEquals(${status})`),
  ];
}

/** True if an asserted status is 400 or above: without `shouldFail` it fails at the hosted monitor, whatever is asserted. */
function assertsFailure(assertions: readonly Assertion[]): boolean {
  return statusesOf(assertions).some((status) => status >= 400);
}

function statusesOf(assertions: readonly Assertion[]): number[] {
  return assertions.flatMap((one) => (one.source === "status" ? expandStatuses(one.equals) : []));
}

/** A list of source text on one line if it fits, else one entry per line. */
export function wrap(entries: readonly string[], indent: string): string {
  const line = entries.join(", ");
  if (line.length <= 70) return `[${line}]`;
  return `[\n${entries.map((entry) => `${indent}  ${entry},\n`).join("")}${indent}]`;
}

export function code(value: unknown): string {
  return JSON.stringify(value);
}
