/** Definitions of every form that the lint lets pass. */
import fc from "fast-check";
import type { CheckOf, Definitions, Heartbeat } from "#monitor/contract.ts";
import { hostedFrequencies } from "#monitor/export/checkly.ts";
import { hostedLocations } from "#monitor/hosted/contract.ts";
import type { Assertion } from "#monitor/kinds/assertions.ts";
import { standardDefinitions } from "./standard-definitions.ts";

const id = fc.stringMatching(/^[a-z0-9]{1,6}(?:-[a-z0-9]{1,6}){0,2}$/);

/** People write anything: quotes, ends of comments, line ends. */
const text = fc
  .oneof(
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 }),
    fc.constantFrom('a "b" \\ `c` $(d) {{e}', "*/ // #{", "two\nlines\r\n", "' : - ? | >"),
  )
  .filter((value) => value.trim() !== "");

const watched = fc.constantFrom(
  { environment: "production", channel: "production" } as const,
  { environment: "staging", channel: "staging" } as const,
  { environment: "production", channel: null } as const,
  { environment: "staging", channel: null } as const,
);

const headerName = fc.stringMatching(/^x(?:-[a-z0-9]{1,6}){1,2}$/);

/** What a header may hold, and a body of JSON has as it is. */
const plainText = fc.stringMatching(/^[!-~](?:[ -~]{0,12}[!-~])?$/).filter(isPlain);

function isPlain(value: string): boolean {
  return !value.includes("{{") && !value.includes("${");
}

/** Each name is used once in a body, since the probe of another program sees text. */
const jsonName = fc.stringMatching(/^[a-z_][a-z0-9_-]{2,8}$/);

const jsonValue = fc.oneof(
  plainText,
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.integer({ min: 1, max: 999 }).map((tenths) => tenths + 0.5),
);

const assertions: fc.Arbitrary<Assertion[]> = fc
  .tuple(
    fc.integer({ min: 200, max: 599 }),
    fc.uniqueArray(fc.record({ name: headerName, contains: plainText }), {
      selector: ({ name }) => name,
      maxLength: 2,
    }),
    fc.uniqueArray(fc.record({ name: jsonName, equals: jsonValue }), {
      selector: ({ name }) => name,
      maxLength: 3,
    }),
  )
  .map(([status, headers, values]) => [
    { source: "status", equals: status },
    ...headers.map((header) => ({ source: "header" as const, ...header })),
    ...values.map(({ name, equals }) => ({ source: "json" as const, path: `d.${name}`, equals })),
  ]);

const request = fc.oneof(
  fc.record({ method: fc.constant("GET" as const), body: fc.constant(null) }),
  fc.record({
    method: fc.constant("POST" as const),
    body: fc.option(
      fc.dictionary(jsonName, fc.oneof(jsonValue, fc.constantFrom("{{KEY}}", "a {{ROOT_KEY}}"))),
    ),
  }),
);

const thresholds = fc
  .tuple(fc.integer({ min: 1, max: 30_000 }), fc.integer({ min: 1, max: 30_000 }))
  .map(([a, b]) => ({ degradedAboveMs: Math.min(a, b), failedAboveMs: Math.max(a, b) }));

/** Runs may not take longer than the period. */
const longEnough = hostedFrequencies.filter((seconds) => seconds > 30);

export const arbitraryApiCheck: fc.Arbitrary<CheckOf<"http">> = fc
  .tuple(
    fc.record({
      id,
      name: text,
      kind: fc.constant("http" as const),
      path: fc.webPath().map((path) => `/${path.replace(/^\/+/, "").replace(/[{}]/g, "")}`),
      headers: fc.dictionary(headerName, fc.oneof(plainText, fc.constant("Bearer {{ROOT_KEY}}"))),
      assertions,
      locations: fc.uniqueArray(fc.constantFrom(...hostedLocations), { minLength: 1 }),
      frequencySeconds: fc.constantFrom(...longEnough),
      failedRunThreshold: fc.integer({ min: 1, max: 5 }),
    }),
    watched,
    request,
    thresholds,
  )
  .map((parts) => Object.assign({}, ...parts) as CheckOf<"http">);

const arbitraryHeartbeat: fc.Arbitrary<Heartbeat> = fc
  .tuple(
    fc.record({
      id,
      name: text,
      watches: text,
      periodSeconds: fc.integer({ min: 30, max: 31_536_000 }),
      graceSeconds: fc.integer({ min: 0, max: 31_536_000 }),
    }),
    watched,
  )
  .map((parts) => Object.assign({}, ...parts) as Heartbeat);

type HttpDefinitions = Omit<Definitions, "apiChecks"> & { apiChecks: readonly CheckOf<"http">[] };

export const arbitraryDefinitions: fc.Arbitrary<HttpDefinitions> = fc
  .record({
    apiChecks: fc.array(arbitraryApiCheck, { maxLength: 8 }),
    heartbeats: fc.array(arbitraryHeartbeat, { maxLength: 8 }),
  })
  .map(({ apiChecks, heartbeats }) => {
    const taken = new Set<string>();
    const isFirst = (row: { id: string }) => !taken.has(row.id) && taken.add(row.id);
    return {
      apiChecks: apiChecks.filter(isFirst),
      heartbeats: heartbeats.filter(isFirst),
      channels: standardDefinitions.channels,
    };
  });
