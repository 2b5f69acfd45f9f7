/** Requests that could not be read: too slow, too long, or not HTTP. They reach no handler. */
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { ApiError, errorBody } from "#api/error.ts";
import { newId } from "#api/ids.ts";
import { endWith } from "#kernel/last-words.ts";

/** Answers on the bare connection and closes it. `docsUrl` as in `errorBody`. */
export function createRefuseBrokenRequest(docsUrl: string) {
  return (error: Error & { code?: string }, socket: Socket): void => {
    if (error.code === "ECONNRESET" || !socket.writable) {
      socket.destroy();
      return;
    }
    const { status, refusal } = refusalOf(error.code);
    const to = { requestId: newId("request"), docsUrl };
    const body = errorBody(refusal, to);
    const text = JSON.stringify({ ...body, error: { ...body.error, status } });
    endWith(socket, toHttp(status, text));
  };
}

const headersTooLarge = 431;

function refusalOf(code: string | undefined): { status: number; refusal: ApiError } {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    const detail = "The request was not received in time.";
    return { status: 408, refusal: new ApiError("user/bad_request/request_timeout", detail) };
  }
  const isTooLarge = code === "HPE_HEADER_OVERFLOW";
  const detail = isTooLarge
    ? "The headers of the request are too large."
    : "The request is not valid HTTP.";
  return {
    status: isTooLarge ? headersTooLarge : 400,
    refusal: new ApiError("user/bad_request/request_body_unreadable", detail),
  };
}

function toHttp(status: number, body: string): string {
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
    "",
    body,
  ].join("\r\n");
}
