/** The double of the incident service as a server. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Call } from "#routing/incident/transport.ts";
import { sources } from "../monitor/standard-definitions.ts";
import { createIncidentDouble } from "./incident-double.ts";

type Moment = "before" | "after";

export const incidentKey = "inc-key-of-the-test";

export async function startIncidentServer() {
  const double = createIncidentDouble({
    sources: sources.map(({ name, title }) => ({ id: `01SOURCE-${name}`, name: title })),
  });
  const server = {
    double,
    /** Every request as `METHOD path`, without its query. */
    requests: [] as string[],
    /** Called before a request is carried out, and before it is answered. */
    hold: async (_call: Call, _moment: Moment): Promise<void> => {},
    url: "",
    stop: async () => {
      http.closeAllConnections();
      http.close();
      await once(http, "close");
    },
  };

  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const call = await readCall(incoming);
    server.requests.push(`${call.method} ${call.path.split("?")[0]}`);
    if (incoming.headers.authorization !== `Bearer ${incidentKey}`) {
      outgoing.writeHead(401, { "content-type": "application/json" }).end('{"errors":[]}');
      return;
    }
    await server.hold(call, "before");
    const { status, retryAfter, body } = await double.send(call);
    await server.hold(call, "after");
    outgoing
      .writeHead(status, {
        "content-type": "application/json",
        ...(retryAfter !== undefined && { "retry-after": retryAfter }),
      })
      .end(body === undefined ? "" : JSON.stringify(body));
  };

  const http = createServer((incoming, outgoing) => {
    // What the double does not answer is a connection that breaks.
    serve(incoming, outgoing).catch(() => outgoing.destroy());
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  server.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return server;
}

async function readCall(incoming: IncomingMessage): Promise<Call> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return {
    method: incoming.method as Call["method"],
    path: incoming.url ?? "",
    ...(text !== "" && { body: JSON.parse(text) as object }),
  };
}
