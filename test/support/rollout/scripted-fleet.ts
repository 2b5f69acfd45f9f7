/** A fleet behind the `http` driver's protocol that answers whatever a test says, also what none should. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type FleetRequest = { method: string; id: string; query: URLSearchParams };

/** Answers the call, now or later or never. */
export type FleetScript = (request: FleetRequest, answer: ServerResponse) => void;

export type ScriptedFleet = Awaited<ReturnType<typeof startScriptedFleet>>;

export async function startScriptedFleet(first: FleetScript) {
  let script = first;
  const calls: FleetRequest[] = [];
  const server = createServer((incoming, outgoing) => {
    incoming.resume();
    const url = new URL(incoming.url ?? "/", "http://fleet");
    const id = decodeURIComponent(url.pathname.replace(/^\/sentinels\/?/, ""));
    const request = { method: incoming.method ?? "", id, query: url.searchParams };
    calls.push(request);
    script(request, outgoing);
  });
  // It shares a process with what reads large answers, for longer than the default of five seconds.
  server.keepAliveTimeout = 120_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    play: (next: FleetScript) => {
      script = next;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function answerJson(answer: ServerResponse, status: number, body?: unknown): void {
  answer.writeHead(status, { "content-type": "application/json" });
  answer.end(body === undefined ? "" : JSON.stringify(body));
}

/** One byte every 200 ms, without an end: no single wait is ever long. */
export function trickle(answer: ServerResponse): void {
  answer.writeHead(200, { "content-type": "application/json" });
  const timer = setInterval(() => answer.write(" "), 200);
  answer.on("close", () => clearInterval(timer));
}
