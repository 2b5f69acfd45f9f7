/** How a procedure is declared: a file of its namespace; its key in `procedures.ts` is its name. */
import type { IncomingHttpHeaders } from "node:http";
import type { z } from "zod";
import { describeMissing, type Grants, type Requirement } from "#api/access/grants.ts";
import { ApiError } from "#api/error.ts";
import type { Pagination } from "#api/schemas/schema.ts";

/** Who calls, from where, and what they may do. */
export type Call = {
  requestId: string;
  /** The workspace the caller's root key acts on: nothing of another one may be seen or touched. */
  workspaceId: string;
  grants: Grants;
  /** The root key. */
  actor: { id: string; name: string | undefined };
  remoteIp: string;
  userAgent: string;
  headers: IncomingHttpHeaders;
  /** When the request came, unix milliseconds. */
  nowMs: number;
};

/** What a handler answers; `meta.requestId` is put beside it. `data` undefined: none. */
export type Answer<Data> = { data: Data; pagination?: Pagination };

export type Procedure<Input = unknown, Data = unknown> = {
  /** One sentence for the reference page. */
  summary: string;
  /** More for that page, in Markdown. */
  description?: () => string;
  input: z.ZodType<Input>;
  /** Of `data`; undefined when the answer has none. */
  output: z.ZodType<Data> | undefined;
  /** What the root key must hold, when that is known before anything is looked up. */
  permission?: (input: Input) => Requirement;
  /** The wire contract declares errors of a few operations as `application/problem+json`. */
  errorsAreProblems?: true;
  /** Statuses it answers besides 200, 400, 401, 403, 408, 413, 429 and 500. */
  refusals?: readonly number[];
  handle: (input: Input, call: Call) => Promise<Answer<Data>> | Answer<Data>;
};

/** A namespace: procedure name to procedure. The path is `/v2/<namespace>.<name>`. */
// biome-ignore lint/suspicious/noExplicitAny: a table of procedures has many inputs; each entry is checked where it is declared
export type Procedures = Record<string, Procedure<any, any>>;

/** Declares a procedure: only there for its types. */
export function procedure<Input, Data>(entry: Procedure<Input, Data>): Procedure<Input, Data> {
  return entry;
}

/** Refuses with 403 what the caller's root key does not allow. */
export function demand(call: Call, requirement: Requirement): void {
  if (call.grants.allow(requirement)) return;
  throw new ApiError("unkey/authorization/insufficient_permissions", describeMissing(requirement));
}
