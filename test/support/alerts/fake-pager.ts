/** PagerDuty's Events API v2, as far as its senders see it: takes events, and keeps them. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

type PagerEvent = {
  routing_key: string;
  event_action: string;
  dedup_key: string;
  payload?: { summary: string; severity: string; custom_details: Record<string, string> };
};

export async function startFakePager() {
  const events: PagerEvent[] = [];
  const server = createServer(async (request, response) => {
    const isEvent = request.method === "POST" && request.url === "/v2/enqueue";
    if (isEvent) events.push((await json(request)) as PagerEvent);
    response.writeHead(isEvent ? 202 : 404).end('{"status":"success"}');
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v2/enqueue`,
    events,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
