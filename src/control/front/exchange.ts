/** Reads the token of a request to Restate's ports, and refuses requests. */
import { type ServerResponse, STATUS_CODES } from "node:http";
import { bearerOf } from "#control/token.ts";
import { frontHeaders } from "./forward.ts";

/** From `Authorization: Bearer`, or the password of `Basic`: browsers send that only here, a cookie to every port. */
export function readToken(authorization: string | undefined): string {
  const encoded = /^Basic +(\S+)$/i.exec(authorization ?? "")?.[1];
  if (encoded === undefined) return bearerOf(authorization);
  const pair = Buffer.from(encoded, "base64").toString();
  return pair.slice(pair.indexOf(":") + 1);
}

type Refusal = { status: number; detail: string };

/** Answers a refusal. Each has the same shape; clients of Restate read `message`. */
export function answerRefusal(response: ServerResponse, { status, detail }: Refusal): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const title = STATUS_CODES[status] ?? "Refused";
  response.writeHead(status, {
    ...frontHeaders,
    ...(status === 401 && { "www-authenticate": challenges }),
    ...(status === 405 && { allow: "POST" }),
    "content-type": "application/problem+json",
    // The rest of the request is not read.
    connection: "close",
  });
  const code = codes[status] ?? "refused";
  response.end(
    JSON.stringify({ type: "about:blank", title, status, detail, code, message: detail }),
  );
}

const codes: Record<number, string> = {
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  405: "method_not_allowed",
  413: "payload_too_large",
  422: "idempotency_key_reused",
  429: "too_many_calls",
  502: "bad_gateway",
};

const challenges = [
  'Basic realm="Restate of Vedette: any name, the ingress token as password", charset="UTF-8"',
  "Bearer",
];
