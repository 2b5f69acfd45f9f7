import { readFileSync } from "node:fs";
import { writeFileAtomically } from "#kernel/atomic-file.ts";
import { type Endpoint, type EndpointSettings, serveEndpoint } from "./endpoint.ts";

/**
 * Serves like `serveEndpoint`; with port 0 on the free port that `file` remembers from the last
 * time, if it still is free. Restate calls an invocation in flight where it was begun: on another
 * port it would never come back to us.
 */
export async function serveOnKnownPort(
  file: string,
  settings: EndpointSettings,
): Promise<Endpoint> {
  if (settings.port !== 0) return serveEndpoint(settings);
  const endpoint = await serveAgain(recallPort(file), settings);
  writeFileAtomically(file, new URL(endpoint.url).port);
  return endpoint;
}

async function serveAgain(port: number, settings: EndpointSettings): Promise<Endpoint> {
  try {
    return await serveEndpoint({ ...settings, port });
  } catch (error) {
    if (!unusable.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    settings.log.warn({ port }, "the worker's last port is taken, using another one");
    return serveEndpoint(settings);
  }
}

/** Of a port that is another's, or that this user may not have. */
const unusable = new Set(["EADDRINUSE", "EACCES"]);

/** 0 as well when the file holds no port. */
function recallPort(file: string): number {
  try {
    const text = readFileSync(file, "utf8").trim();
    const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
    return port <= 65_535 ? port : 0;
  } catch {
    return 0;
  }
}
