/** The kinds of checks: what each one asks, and what a good answer is. */
import { z } from "zod";
import { refuseBy } from "#kernel/faults.ts";
import { findJsonPathFault } from "#kernel/json-path.ts";

/** A check without a kind is one of http. */
export const checkKinds = ["http", "tcp", "dns", "tls", "steps"] as const;
export type CheckKind = (typeof checkKinds)[number];

/** A status that ends a request, or all of a hundred. */
const Status = z.union([
  z.int().min(200).max(599),
  z.string().regex(/^[2-5][xX]{2}$/, "is no class of statuses, such as 2xx"),
]);

const Statuses = z.union([Status, z.array(Status).min(1).max(50)], {
  error: "has to be a status from 200 to 599, a class such as 2xx, or a list such as [200, 204]",
});

/** Each status that is meant, in order. */
export function expandStatuses(statuses: z.infer<typeof Statuses>): number[] {
  const all = [statuses].flat().flatMap((one) => {
    if (typeof one === "number") return one;
    return Array.from({ length: 100 }, (_, index) => Number(one.slice(0, 1)) * 100 + index);
  });
  return [...new Set(all)].sort((one, other) => one - other);
}

export const HeaderName = z
  .string()
  .regex(
    /^[\w!#$%&'*+.^`|~-]{1,100}$/,
    "is no name of a header, which has no colon and no blank, such as content-type",
  );

export const HeaderText = z
  .string()
  .max(8_192)
  // Node's own rule for the value of a header.
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/, "has characters that no header may have");

const JsonPath = z.string().max(500, { abort: true }).superRefine(refuseBy(findJsonPathFault));

/** A condition on the content of a response. */
export const Assertion = z.discriminatedUnion("source", [
  z.strictObject({ source: z.literal("status"), equals: Statuses }),
  z.strictObject({ source: z.literal("header"), name: HeaderName, contains: HeaderText }),
  z.strictObject({
    source: z.literal("json"),
    path: JsonPath,
    equals: z.union([z.string(), z.number(), z.boolean(), z.null()]),
  }),
]);
export type Assertion = z.infer<typeof Assertion>;

/** Where a value is in an answer, for later steps. */
export const Extraction = z.discriminatedUnion("source", [
  z.strictObject({ source: z.literal("json"), path: JsonPath }),
  z.strictObject({ source: z.literal("header"), name: HeaderName }),
]);
export type Extraction = z.infer<typeof Extraction>;

/** The name of a value that a step takes from its answer; later steps name it as `{{name}}`. */
export const extractName = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/;

export const maxSteps = 20;
export const maxExtracts = 20;

/** The types of records that a check of DNS may ask for. */
export const recordTypes = ["A", "AAAA", "CAA", "CNAME", "MX", "NS", "PTR", "SRV", "TXT"] as const;
export type RecordType = (typeof recordTypes)[number];

/** The protocols in which a plain connection starts TLS. */
export const startTlsProtocols = ["smtp", "imap", "postgres"] as const;
export type StartTlsProtocol = (typeof startTlsProtocols)[number];

const request = {
  /** Appended to the base URL; a whole address stays as it is. */
  path: z.string(),
  headers: z.record(z.string(), z.string()),
  /** Sent as JSON; null: no body. */
  body: z.record(z.string(), z.unknown()).nullable(),
  assertions: z.array(Assertion),
};

export const stepMethods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

const Step = z.object({
  /** null: it has none but its number. */
  name: z.string().nullable(),
  method: z.enum(stepMethods),
  ...request,
  /** By the name that later steps use. */
  extract: z.record(z.string(), Extraction),
});
export type Step = z.infer<typeof Step>;

/** What the checks of each kind have besides what all have. */
export const kindFields = {
  http: { kind: z.literal("http"), method: z.enum(["GET", "POST"]), ...request },
  tcp: {
    kind: z.literal("tcp"),
    host: z.string(),
    port: z.int(),
    /** Sent when connected; null: nothing. */
    send: z.string().nullable(),
    /** The text that the first 4 KB of the answer contain; null: a connection is enough. */
    expect: z.string().nullable(),
  },
  dns: {
    kind: z.literal("dns"),
    domain: z.string(),
    type: z.enum(recordTypes),
    /** Addresses, with or without a port; empty: those of the machine. */
    servers: z.array(z.string()),
    /** Values that have to be among the answers; empty: any answer is good. */
    expect: z.array(z.string()),
  },
  tls: {
    kind: z.literal("tls"),
    host: z.string(),
    port: z.int(),
    /** The name that the certificate has to have. */
    servername: z.string(),
    /** The protocol in which TLS is started; absent: the connection begins with TLS. */
    starttls: z.enum(startTlsProtocols).optional(),
    /** Of the days until the certificate ends. */
    degradedBelowDays: z.int(),
    failedBelowDays: z.int(),
  },
  steps: { kind: z.literal("steps"), steps: z.array(Step).min(1).max(maxSteps) },
} as const;

export type KindFields = {
  [Kind in CheckKind]: z.infer<z.ZodObject<(typeof kindFields)[Kind]>>;
};

export function isHttp<Check extends { kind: CheckKind }>(
  check: Check,
): check is Extract<Check, { kind: "http" }> {
  return check.kind === "http";
}
