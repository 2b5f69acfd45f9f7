/** The rows of the definitions, as a file has them: what may be left out gets its default here. */
import { z } from "zod";
import { environments } from "#alerts/contract.ts";
import { isClean } from "#kernel/clean-text.ts";
import { Assertion } from "#monitor/contract.ts";
import { AlertRoute, AlertSource } from "#routing/contract.ts";

const slug = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** Also the deduplication key of alerts, and part of addresses: so it cannot be any text. */
const Id = z
  .string()
  .max(100)
  .regex(slug, "has to be lower-case letters, digits and single hyphens, such as shop-checkout")
  .describe("Lower-case letters, digits and single hyphens. Under another id it is another row.");

const text = (longest: number) =>
  z
    .string()
    .trim()
    .min(1, "is empty")
    .max(longest)
    .refine((given) => isClean(given, longest), "has control characters");

const Environment = z
  .enum(environments)
  .default("production")
  .describe("Which alert source and channel may be used.");

const Channels = z
  .array(Id)
  .max(1, "only one channel is possible so far")
  .default([])
  .describe(
    "Ids of channels that are notified. None: the failure is shown, and nobody is notified.",
  );

const Name = text(200).optional().describe("As people see it. Default: the id.");

/** A location of your own, at which `vedette monitor-runner` runs. */
const LocationRow = z
  .strictObject({ id: Id.max(40), name: Name })
  .transform(({ id, name = id }) => ({ id, name }));
type LocationRow = z.output<typeof LocationRow>;

/** Where alerts go. `incident`: the alert source of an environment at the incident service. */
export const ChannelRow = z.strictObject({
  id: Id,
  kind: z
    .literal("incident")
    .describe("incident: the alert source of the environment at the incident service."),
  environment: Environment,
  hostedId: z
    .int()
    .min(1)
    .optional()
    .describe("Its number at the hosted monitor, for `vedette checks export checkly`."),
});
export type ChannelRow = z.output<typeof ChannelRow>;

const Header = z
  .string()
  .max(8_192)
  // Node's own rule for the value of a header.
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/, "has characters that no header may have");

const wholeUrl = z
  .string()
  .max(2_000)
  .refine(isProbeUrl, {
    abort: true,
    error: "has to be a whole address such as https://shop.example.com/health",
  })
  .refine(hasNoUser, "has a user or a password: put it in a header, as {{NAME}} of a secret");

function isProbeUrl(given: string): boolean {
  if (/[\s\\]/.test(given) || !URL.canParse(given)) return false;
  const { protocol, hash } = new URL(given);
  return /^https?:$/.test(protocol) && hash === "";
}

/** Rows are shown. */
function hasNoUser(given: string): boolean {
  const { username, password } = new URL(given);
  return username === "" && password === "";
}

const Path = z
  .string()
  .max(2_000)
  .refine(
    (given) => /^\/[^\s\\#]*$/.test(given) && URL.canParse(`https://host.example${given}`),
    "has to be the path of an address, such as /v2/liveness",
  );

const CheckFields = z.strictObject({
  id: Id,
  name: Name,
  kind: z.literal("http").default("http"),
  environment: Environment,
  method: z.enum(["GET", "POST"]).default("GET"),
  url: wholeUrl
    .optional()
    .describe("The whole address; or else `path`. May have {{NAME}} of a secret."),
  path: Path.optional().describe(
    "A path under the setting monitor.base_url, by default under the API of this program.",
  ),
  headers: z
    .record(z.string().regex(/^[\w!#$%&'*+.^`|~-]{1,100}$/, "is no name of a header"), Header)
    .default({})
    .describe("Values may have {{NAME}} of a secret."),
  body: z
    .record(z.string(), z.json())
    .nullable()
    .default(null)
    .describe("Sent as JSON, of a POST. Texts in it may have {{NAME}} of a secret."),
  assertions: z
    .array(Assertion)
    .min(1)
    .max(50)
    .default([{ source: "status", equals: 200 }])
    .describe("What a good answer is: all have to hold. Default: the status is 200."),
  frequencySeconds: z.int().min(10).max(86_400).default(60).describe("From one run to the next."),
  degradedAboveMs: z
    .int()
    .min(1)
    .max(30_000)
    .optional()
    .describe("A slower answer is degraded. Default: 5 s, or failedAboveMs if that is less."),
  failedAboveMs: z
    .int()
    .min(1)
    .max(30_000)
    .optional()
    .describe(
      "A slower answer is failed. Default: 10 s, or nine tenths of the period if that is less.",
    ),
  failedRunThreshold: z
    .int()
    .min(1)
    .max(100)
    .default(1)
    .describe("Failed runs in a row that open an alert."),
  locations: z
    .array(Id.max(40))
    .min(1)
    .max(100)
    .optional()
    .describe("Ids of `locations`, or locations of the hosted monitor. Default: every location."),
  channels: Channels,
});

/** An API check. */
export const CheckRow = CheckFields.transform(withDefaults).check(z.superRefine(lintCheck));
export type CheckRow = z.output<typeof CheckRow>;

function withDefaults(row: z.output<typeof CheckFields>) {
  const failedAboveMs = row.failedAboveMs ?? Math.min(10_000, row.frequencySeconds * 900);
  const degradedAboveMs = row.degradedAboveMs ?? Math.min(5_000, failedAboveMs);
  return { ...row, name: row.name ?? row.id, degradedAboveMs, failedAboveMs };
}

function lintCheck(row: ReturnType<typeof withDefaults>, context: z.RefinementCtx): void {
  const fault = (field: string, message: string) =>
    context.addIssue({ code: "custom", path: [field], message });
  if ((row.url === undefined) === (row.path === undefined)) {
    fault(row.url === undefined ? "id" : "path", "a check has either url or path");
  }
  if (row.method === "GET" && row.body !== null) fault("body", "a GET has no body");
  if (row.degradedAboveMs > row.failedAboveMs) {
    fault("degradedAboveMs", "must not be above failedAboveMs");
  }
  if (row.failedAboveMs >= row.frequencySeconds * 1_000) {
    fault("failedAboveMs", "has to be below frequencySeconds: a run must end before the next");
  }
  if (row.assertions.filter(({ source }) => source === "status").length > 1) {
    fault("assertions", "asserts more than one status");
  }
}

const maxSpanSeconds = 365 * 86_400;

/** A job that pings. It alerts when it has not pinged for its period and its grace. */
export const HeartbeatRow = z
  .strictObject({
    id: Id,
    name: Name,
    environment: Environment,
    watches: text(500).optional().describe("What the job does. Default: the name."),
    periodSeconds: z.int().min(30).max(maxSpanSeconds).describe("From one ping to the next."),
    graceSeconds: z.int().min(0).max(maxSpanSeconds).describe("How late a ping may be."),
    channels: Channels,
  })
  .transform(({ name, watches, ...row }) => ({
    ...row,
    name: name ?? row.id,
    watches: watches ?? name ?? row.id,
  }));
export type HeartbeatRow = z.output<typeof HeartbeatRow>;

/** The sections of the definitions: the schema of their rows, and the field by which a row is known. */
export const sections = {
  locations: { row: LocationRow, key: "id", most: 1_000 },
  channels: { row: ChannelRow, key: "id", most: 1_000 },
  checks: { row: CheckRow, key: "id", most: 10_000 },
  heartbeats: { row: HeartbeatRow, key: "id", most: 10_000 },
  sources: { row: AlertSource, key: "name", most: 1_000 },
  routes: { row: AlertRoute, key: "name", most: 1_000 },
} as const;
export type Section = keyof typeof sections;
export const sectionNames = Object.keys(sections) as Section[];

/** All rows, with defaults filled in. */
export type DefinitionSet = {
  locations: readonly LocationRow[];
  channels: readonly ChannelRow[];
  checks: readonly CheckRow[];
  heartbeats: readonly HeartbeatRow[];
  sources: readonly AlertSource[];
  routes: readonly AlertRoute[];
};

export const emptySet: DefinitionSet = {
  locations: [],
  channels: [],
  checks: [],
  heartbeats: [],
  sources: [],
  routes: [],
};

/** The id or name by which a row is known within its section. */
export function keyOf(section: Section, row: object): string {
  return String((row as Record<string, unknown>)[sections[section].key]);
}
