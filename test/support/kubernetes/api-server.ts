/**
 * An API server with Deployments, StatefulSets, DaemonSets and their pods, as a driver, kubectl and Kubernetes' own client library speak to it:
 * lists with pages, watches, server-side apply with owners of fields, patches, refusals. What it keeps has to be as
 * Kubernetes' schemas say. Pods run by `kubelet.ts`.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { type Answer, type Asked, refusal, toAsked } from "./asked.ts";
import { type Pace, startDeploymentController } from "./deployment-controller.ts";
import { answerOfDiscovery } from "./discovery.ts";
import { type KubeletPace, startKubelet } from "./kubelet.ts";
import { createObjects, type Objects } from "./objects.ts";
import { answerLog } from "./pod-logs.ts";
import { answerOf, watch } from "./resources.ts";
import { type SetPace, startSetController } from "./set-controller.ts";

export type ApiServerSettings = Partial<Pace & KubeletPace & SetPace> & {
  /** Who has which token may do what; anybody else is refused. */
  tokens?: Record<string, (asked: Asked) => boolean>;
  /** With TLS; otherwise it speaks plain HTTP. */
  tls?: { cert: string; key: string; ca?: string };
  /** Asked before a request is carried out: what it answers is sent instead, and "lost" closes the connection. */
  before?: (asked: Asked) => Interference;
  /** Asked after it was carried out, before it is answered. */
  after?: (asked: Asked) => Interference;
};

type Interference =
  | undefined
  | "lost"
  | { status: number; body?: unknown; headers?: Record<string, string> };

export const adminToken = "admin-token";

export type ApiServer = {
  url: string;
  objects: Objects;
  /** All that were received since the start. */
  requests: Asked[];
  /** What was refused because it is not as Kubernetes' schemas say. */
  faults: string[];
  /** Ends every connection, watches too. */
  cut: () => void;
  close: () => Promise<void>;
};

/** Ends with the test that asks for it. */
export async function startApiServer(settings: ApiServerSettings = {}): Promise<ApiServer> {
  const server = await openApiServer(settings);
  onTestFinished(server.close);
  return server;
}

export async function openApiServer(settings: ApiServerSettings = {}): Promise<ApiServer> {
  const objects = createObjects();
  const requests: Asked[] = [];
  const faults: string[] = [];
  const pace = {
    observeMs: 20,
    readyMs: 30,
    endMs: 10,
    nodes: ["node-a", "node-b"],
    isOverQuota: () => false,
    admit: (image: string) => image,
    ...settings,
  };
  const stops = [startKubelet, startDeploymentController, startSetController].map((start) =>
    start(objects, pace),
  );

  const judge = (asked: Asked): Answer | undefined => {
    const may = (settings.tokens ?? { [adminToken]: () => true })[asked.token];
    if (may === undefined) return refusal(401, "Unauthorized", "Unauthorized");
    const discovered = answerOfDiscovery(asked);
    if (discovered !== undefined || may(asked)) return discovered;
    const words = `${asked.resource} is forbidden: User "vedette" cannot ${asked.verb} resource "${asked.resource}" in API group "apps" in the namespace "${asked.namespace}"`;
    return refusal(403, "Forbidden", words);
  };

  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const asked = await toAsked(incoming);
    requests.push(asked);
    const early = settings.before?.(asked) ?? judge(asked);
    if (early !== undefined) return send(outgoing, early);
    if (asked.verb === "watch") return watch(asked, objects, outgoing);
    if (asked.resource === "pods/log") return sendLog(outgoing, answerLog(asked, objects));
    const answered = answerOf(asked, { objects, faults, admit: pace.admit });
    send(outgoing, settings.after?.(asked) ?? answered);
  };

  const listener = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    answer(incoming, outgoing).catch((error: Error) => {
      faults.push(String(error.stack));
      send(outgoing, refusal(500, "InternalError", error.message));
    });
  };
  const { tls } = settings;
  const server = tls
    ? createSecureServer({ ...tls, requestCert: tls.ca !== undefined }, listener)
    : createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls ? "https" : "http"}://127.0.0.1:${port}`,
    objects,
    requests,
    faults,
    cut: () => server.closeAllConnections(),
    close: async () => {
      for (const stop of stops) stop();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function sendLog(outgoing: ServerResponse, answered: ReturnType<typeof answerLog>): void {
  if ("text" in answered) {
    outgoing.writeHead(200, { "content-type": "text/plain" }).end(answered.text);
  } else send(outgoing, answered);
}

function send(outgoing: ServerResponse, what: NonNullable<Interference>): void {
  if (what === "lost") {
    outgoing.destroy();
    return;
  }
  outgoing.writeHead(what.status, { "content-type": "application/json", ...what.headers });
  outgoing.end(JSON.stringify(what.body ?? {}));
}
