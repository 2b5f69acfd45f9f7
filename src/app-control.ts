/** Wires the gateway in front of Restate. */
import { createControl } from "#control/control.ts";
import { listening } from "#kernel/listen.ts";
import type { Base, Stop } from "./app-base.ts";
import type { Results } from "./app-results.ts";

type ControlParts = { ingressUrl: string; results: Results; stops: Stop[] };

export async function startControl(base: Base, parts: ControlParts): Promise<string> {
  const { config, log, credentials } = base;
  const { ingressUrl, results, stops } = parts;
  const { host, port } = config.control;
  const control = createControl({
    ingressUrl,
    ingressToken: credentials.ingress_token,
    log,
    ...(results.findPublicPage !== null && { findPublicPage: results.findPublicPage }),
  });
  stops.push(() => control.close());
  return listening(control.listen({ host, port }), { port, setting: "control.port" });
}
