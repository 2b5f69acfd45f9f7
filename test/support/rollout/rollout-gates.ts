/** Gates of random rollouts, and the receiver of those that ask a webhook. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ModelPolicy } from "./rollout-model.ts";

const results = ["pass", "fail", "pending"] as const;

export function gateOf(gate: NonNullable<ModelPolicy["gate"]>): object {
  if (gate === "pause") return { kind: "pause", name: "gate" };
  return { kind: "webhook", name: "gate", channel: gate, interval_seconds: 5 };
}

/** A receiver with a channel for each result. */
export async function startReceiver() {
  const server = createServer(({ url = "" }, response) => {
    response.end(JSON.stringify({ result: url.slice(1) }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    webhooks: results.map((id) => ({
      ...{ id, kind: "webhook" as const, url: `http://127.0.0.1:${port}/${id}` },
    })),
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
