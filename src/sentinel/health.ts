/** A sentinel's private port, by which the driver checks its health and activates it. */
import type { Server, ServerResponse } from "node:http";
import { isSameSecret } from "#kernel/same-secret.ts";

/** Node's HTTP: an import of it would load all that it exports, a WebSocket and with it `fetch`, 5 MB in each sentinel. */
export const http = process.getBuiltinModule("node:http");

export type Health = {
  id: string;
  region: string;
  image: string;
  status: "healthy" | "starting" | "sick";
};

const statusCodes = { healthy: 200, starting: 503, sick: 500 } as const;

export function answerHealth(outgoing: ServerResponse, health: Health): void {
  outgoing.writeHead(statusCodes[health.status], { "content-type": "application/json" });
  outgoing.end(JSON.stringify(health));
}

type PrivateParts = {
  token: string;
  health: () => Health;
  /** The counts since its start, as text for Prometheus. */
  metrics: () => string;
  /** Opens the public port; resolves once it is open. */
  activate: () => Promise<void>;
};

/** `GET /health`, `GET /metrics`, and `POST /activate` to open the public port. Loopback only. */
export function createPrivateServer(parts: PrivateParts): Server {
  return http.createServer(
    { headersTimeout: 5_000, requestTimeout: 5_000 },
    (incoming, outgoing) => {
      if (!isSameSecret(incoming.headers.authorization ?? "", `Bearer ${parts.token}`)) {
        outgoing.writeHead(401, { "www-authenticate": "Bearer" }).end();
        return;
      }
      const route = `${incoming.method} ${incoming.url}`;
      if (route === "GET /health") {
        answerHealth(outgoing, parts.health());
      } else if (route === "GET /metrics") {
        outgoing.writeHead(200, { "content-type": "text/plain; version=0.0.4" });
        outgoing.end(parts.metrics());
      } else if (route === "POST /activate") {
        parts.activate().then(
          () => outgoing.writeHead(204).end(),
          (error: Error) => outgoing.writeHead(500).end(error.message),
        );
      } else {
        outgoing.writeHead(404).end();
      }
    },
  );
}
