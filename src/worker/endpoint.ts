/** The Restate service endpoint: the address at which Restate calls our handlers. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createSecureServer, createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { createEndpointHandler, type EndpointOptions } from "@restatedev/restate-sdk";
import { httpUrl } from "#kernel/address.ts";
import { writeFileAtomically } from "#kernel/files.ts";
import type { Log } from "#kernel/log.ts";
import { untilDone } from "#kernel/restate.ts";

export type Endpoint = {
  /** http(s)://host:port with the actual port, also when port 0 was given. */
  url: string;
  stop: () => Promise<void>;
};

export type EndpointSettings = {
  host: string;
  port: number;
  services: EndpointOptions["services"];
  /** Only requests signed with these keys (`publickeyv1_…`) are served; empty: every request. */
  identityKeys: string[];
  /** By which Restate knows us (PEM): whoever else listens here before or after us gets no call. Absent: plain HTTP/2. */
  tls?: { key: string; cert: string } | undefined;
  log: Log;
};

/** On this host only: the SDK's own `serve` would listen on all interfaces. Throws when the port is taken. */
export async function serveEndpoint(settings: EndpointSettings): Promise<Endpoint> {
  const { services, identityKeys, tls, log } = settings;
  const handler = createEndpointHandler({
    services,
    // The default of all services, so that none can lack it.
    defaultServiceOptions: { retryPolicy: untilDone },
    ...(identityKeys.length > 0 && { identityKeys }),
    logger: toLog(log),
  });
  const server = tls === undefined ? createServer(handler) : createSecureServer(tls, handler);
  const sessions = new Set<{ destroy: () => void }>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  });
  server.listen(settings.port, settings.host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const stop = async () => {
    // Restate never closes its connections. What runs on them is resumed on another worker or later.
    server.close();
    for (const session of sessions) session.destroy();
  };
  const url = httpUrl({ host: settings.host, port });
  return { url: tls === undefined ? url : url.replace("http:", "https:"), stop };
}

type Transport = NonNullable<EndpointOptions["logger"]>;

/** Handlers log by `ctx.console(message, fields)`, which is silent while a journal is replayed. */
function toLog(log: Log): Transport {
  return (meta, ...parts) => {
    const level = meta.level === "trace" ? "trace" : meta.level;
    if (meta.source !== "USER") {
      // The SDK logs every attempt: only its warnings and errors, which are about our handlers, are shown.
      const quieter = level === "warn" || level === "error" ? level : "trace";
      log[quieter]({ detail: parts.map(describe).join(" ") }, "restate sdk");
      return;
    }
    const [message, fields] = parts;
    log[level](isFields(fields) ? fields : {}, String(message));
  };
}

function describe(part: unknown): string {
  return part instanceof Error ? part.message : String(part);
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/**
 * Like `serveEndpoint`; with port 0 it uses the port of the last start, stored in `file`, if that is still
 * free. Restate resumes an invocation at the address where it was started, so it would not find us on
 * another port.
 */
export async function serveOnKnownPort(
  file: string,
  settings: EndpointSettings,
): Promise<Endpoint> {
  if (settings.port !== 0) return serveEndpoint(settings);
  const endpoint = await serveOnLastPort(readPort(file), settings);
  writeFileAtomically(file, new URL(endpoint.url).port);
  return endpoint;
}

async function serveOnLastPort(port: number, settings: EndpointSettings): Promise<Endpoint> {
  try {
    return await serveEndpoint({ ...settings, port });
  } catch (error) {
    if (!unusable.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    settings.log.warn({ port }, "the worker's last port is taken, using another one");
    return serveEndpoint(settings);
  }
}

/** The port is in use, or this user may not listen on it. */
const unusable = new Set(["EADDRINUSE", "EACCES"]);

/** 0 when the file is absent or holds no port. */
function readPort(file: string): number {
  try {
    const text = readFileSync(file, "utf8").trim();
    const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
    return port <= 65_535 ? port : 0;
  } catch {
    return 0;
  }
}
