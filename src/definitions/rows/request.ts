/** The request of a check of HTTP, and of a step. */
import { z } from "zod";
import { Assertion } from "#monitor/kinds/contract.ts";

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

/** Fields of a request; either `url` or `path` is required. */
export const requestFields = {
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
};

type RequestRow = {
  url?: string | undefined;
  path?: string | undefined;
  method: string;
  body: object | null;
  assertions: readonly Assertion[];
};

export type Complain = (field: string, message: string) => void;

/** What the fields must not say of each other. `keyField`: complained of when both addresses are missing. */
export function lintRequest(row: RequestRow, keyField: string, complain: Complain): void {
  if ((row.url === undefined) === (row.path === undefined)) {
    complain(row.url === undefined ? keyField : "path", "a check has either url or path");
  }
  if (row.method === "GET" && row.body !== null) complain("body", "a GET has no body");
  if (row.assertions.filter(({ source }) => source === "status").length > 1) {
    complain("assertions", "asserts more than one status");
  }
}
