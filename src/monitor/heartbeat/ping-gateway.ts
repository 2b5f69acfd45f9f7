/** The door of control for pings: the token in the address is the only credential. */
import type { FastifyPluginAsync } from "fastify";
import { pathOf } from "#kernel/request-path.ts";
import { isPingPath, type TakePing } from "./pings.ts";

const pingMethods = ["GET", "HEAD", "POST"];

export function createPingDoor(takePing: TakePing) {
  const plugin: FastifyPluginAsync = async (app) => {
    // Jobs may post their output: it is discarded, whatever its type and length.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", (_request, payload, done) => {
      payload.on("end", () => done(null, undefined)).on("error", done);
      payload.resume();
    });
    const token = "/:token(^[\\w-]{43}$)";
    const suffix = "/:suffix(^(?:start|fail|\\d{1,3})$)";
    for (const url of [token, `${token}/`, `${token}${suffix}`, `${token}${suffix}/`]) {
      app.route({
        method: pingMethods,
        url,
        handler: async (request, reply) => {
          const taken = await takePing(pathOf(request));
          const { status, body } = taken ?? { status: 404, body: "not found\n" };
          if (status === 503) reply.header("retry-after", "5");
          return reply
            .code(status)
            .type("text/plain")
            .header("cache-control", "no-store")
            .send(body);
        },
      });
    }
  };
  return {
    isMine: isPingPath,
    plugin,
    /** Other methods are answered as those of any address that there is not. */
    answer: (method: string, path: string) =>
      pingMethods.includes(method) ? takePing(path) : null,
  };
}
