import { readFileSync } from "node:fs";
import { writeFileAtomically } from "#kernel/atomic-file.ts";
import { type Endpoint, type EndpointSettings, serveEndpoint } from "./endpoint.ts";

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
