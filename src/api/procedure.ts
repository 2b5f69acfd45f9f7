/** Declares procedures, one file each in the folder of its namespace; the key in `procedures.ts` is its name. */
import type { IncomingHttpHeaders } from "node:http";
import type { z } from "zod";
import { describeMissing, type Grants, type Requirement } from "#api/access/grants.ts";
import { ApiError } from "#api/error.ts";
import type { Pagination } from "#api/schemas/resources.ts";

/** One call: its caller, and what the caller may do. */
export type Call = {
  requestId: string;
  /** The workspace that the caller's root key acts on: nothing of another one may be read or changed. */
  workspaceId: string;
  grants: Grants;
  actor: { id: string; name: string | undefined };
  remoteIp: string;
  userAgent: string;
  headers: IncomingHttpHeaders;
  /** Time when the request was received, unix milliseconds. */
  nowMs: number;
};

/** The result of a handler; the answer also gets `meta.requestId`. `data` undefined: none. */
export type Answer<Data> = { data: Data; pagination?: Pagination };

/** An example of the reference page: a body that the procedure takes, and its answer. */
export type Example<Body, Data> = { body: Body } & Answer<Data>;

/** `Body` is a body as it is sent, `Input` the same with the defaults of what was left out. */
export type Procedure<Input = unknown, Data = unknown, Body = unknown> = {
  /** One sentence for the reference page. */
  summary: string;
  /** A longer text for that page, in Markdown. */
  description?: () => string;
  input: z.ZodType<Input, Body>;
  /** Reads the usual body as `input` does, but faster; undefined: `input` decides. The fast lane has procedures with it. */
  readUsual?: (body: unknown) => Input | undefined;
  /** Schema of `data`; undefined when the answer has none. */
  output: z.ZodType<Data> | undefined;
  example: Example<Body, Data>;
  /** The permission that the root key needs, when it is known before anything is looked up. */
  permission?: (input: Input) => Requirement;
  /** The wire contract declares errors of a few operations as `application/problem+json`. */
  errorsAreProblems?: true;
  /** Statuses of its answers besides 200, 400, 401, 403, 408, 413, 429 and 500. */
  refusals?: readonly number[];
  handle: (input: Input, call: Call) => Promise<Answer<Data>> | Answer<Data>;
};

/** A namespace: procedure name to procedure. The path is `/v2/<namespace>.<name>`. */
// biome-ignore lint/suspicious/noExplicitAny: a table of procedures has many inputs; each entry is checked where it is declared
export type Procedures = Record<string, Procedure<any, any, any>>;

/** Declares a procedure; exists for type inference only. */
export function procedure<Input, Data, Body>(
  entry: Procedure<Input, Data, Body>,
): Procedure<Input, Data, Body> {
  return entry;
}

/** Throws the 403 when the caller's root key lacks the permission. */
export function demand(call: Call, requirement: Requirement): void {
  if (call.grants.allow(requirement)) return;
  throw new ApiError("unkey/authorization/insufficient_permissions", describeMissing(requirement));
}
