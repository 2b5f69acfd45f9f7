/** An answer as it is sent. */
import type { FastifyReply } from "fastify";
import type { Procedure } from "#api/procedure.ts";

export type Headers = Readonly<Record<string, string>>;

/** `type`: the value of `content-type`. */
export type WireAnswer = {
  status: number;
  headers: Headers | undefined;
  type: string;
  body: string;
};

/** A request that is refused. */
export type RefusedRequest = {
  requestId: string;
  path: string;
  procedure?: Procedure | undefined;
  /** Body limit of the route. */
  bodyLimit?: number | undefined;
};

/** Makes the answer to a request for which this was thrown. Logs what is no fault of the caller. */
export type Refuse = (error: Error, request: RefusedRequest) => WireAnswer;

/** Sends by Fastify. The type is complete: Fastify would add a charset to some. */
export function send(reply: FastifyReply, { status, headers, type, body }: WireAnswer): void {
  try {
    if (headers !== undefined) reply.headers(headers);
    reply.code(status).type(type).serializer(String).send(body);
  } catch (error) {
    reply.raw.destroy(error as Error);
  }
}
