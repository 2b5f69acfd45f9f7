/** The row of a check. */
import { z } from "zod";
import { Assertion } from "#monitor/contract.ts";
import { Channels, Environment, Id, Name } from "./fields.ts";

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
