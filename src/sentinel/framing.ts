/** Parses where the body of a request ends; the upstream gets headers that we write from the result. */
import type { IncomingMessage } from "node:http";
import { ProblemError } from "#kernel/problem.ts";

export type Framing = { kind: "none" } | { kind: "chunked" } | { kind: "length"; bytes: number };

type Head = Pick<IncomingMessage, "headers" | "httpVersion">;

/** Throws a 400 for a framing that servers may read differently. */
export function framingOf({ headers, httpVersion }: Head): Framing {
  const coding = headers["transfer-encoding"];
  const length = headers["content-length"];
  if (coding !== undefined) {
    if (length !== undefined) throw badFraming("Transfer-Encoding comes without Content-Length");
    if (httpVersion !== "1.1") throw badFraming("Transfer-Encoding needs HTTP/1.1");
    if (coding.toLowerCase() !== "chunked") throw badFraming('Transfer-Encoding must be "chunked"');
    return { kind: "chunked" };
  }
  if (length === undefined) return { kind: "none" };
  if (!/^\d{1,15}$/.test(length)) throw badFraming("Content-Length must be one whole number");
  const bytes = Number(length);
  return bytes === 0 ? { kind: "none" } : { kind: "length", bytes };
}

function badFraming(rule: string): ProblemError {
  const detail = `it is not clear where the body of the request ends: ${rule}`;
  return new ProblemError({ status: 400, code: "bad_framing", detail });
}
