import { z } from "zod";
import { fillPlaceholders, findUrlFault, httpSchemes } from "#kernel/address.ts";
import { refuseBy } from "#kernel/faults.ts";
import { parseJsonPath, writeJsonPath } from "#kernel/json-path.ts";
import {
  Assertion,
  type Extraction,
  expandStatuses,
  HeaderName,
  HeaderText,
} from "./assertions.ts";
import type { Complain } from "./kind.ts";

const httpUrl = {
  schemes: httpSchemes,
  example: "https://shop.example.com/health",
  // Rows are shown.
  insteadOfUser: "put it in a header, as {{NAME}} of a secret",
};

const wholeUrl = z
  .string()
  .max(2_000)
  .superRefine(refuseBy((url) => findUrlFault(fillPlaceholders(url), httpUrl)));

const Path = z
  .string()
  .max(2_000)
  .superRefine(
    refuseBy((path) =>
      path.startsWith("/")
        ? findUrlFault(`https://host.example${fillPlaceholders(path)}`, httpUrl)
        : "has to begin with /: a path such as /v2/liveness",
    ),
  );

/** The fields of a request in a row; either `url` or `path` is required. */
export const requestRow = {
  url: wholeUrl
    .optional()
    .describe("The whole address; or else `path`. May have {{NAME}} of a secret."),
  path: Path.optional().describe(
    "A path under the setting monitor.base_url, by default under the API of this program.",
  ),
  headers: z
    .record(HeaderName, HeaderText)
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

type RequestRow = z.output<z.ZodObject<typeof requestRow>> & {
  method: string;
  extract?: Readonly<Record<string, Extraction>>;
};

/** Checks the fields against each other. `keyField`: complained of when both addresses are missing. */
export function lintRequest(row: RequestRow, keyField: string, complain: Complain): void {
  if ((row.url === undefined) === (row.path === undefined)) {
    complain([row.url === undefined ? keyField : "path"], "a check has either url or path");
  }
  if (row.method === "GET" && row.body !== null) complain(["body"], "a GET has no body");
  for (const fault of faultsOf(row)) complain(["assertions"], fault);
}

/** Why no answer can have all that is asserted and taken. */
function faultsOf({ assertions, extract = {} }: RequestRow): string[] {
  const statuses = assertions.flatMap((one) => (one.source === "status" ? [one.equals] : []));
  const values = assertions.flatMap((one) =>
    one.source === "json" ? { ...one, where: writeJsonPath(parseJsonPath(one.path) ?? []) } : [],
  );
  const differs = values.find(({ where, equals }, index) =>
    values.slice(0, index).some((other) => other.where === where && other.equals !== equals),
  );
  const isOfBody = [...assertions, ...Object.values(extract)].some((one) => one.source === "json");
  const hasNoBody = expandStatuses(statuses[0] ?? 200).every((one) =>
    [204, 205, 304].includes(one),
  );
  return [
    statuses.length > 1 && "asserts more than one status: name them in one list, as [200, 204]",
    differs !== undefined && `asserts two values of ${differs.path}`,
    isOfBody &&
      hasNoBody &&
      "takes a value of a body, which an answer of the asserted status does not have",
  ].filter((fault) => fault !== false);
}
