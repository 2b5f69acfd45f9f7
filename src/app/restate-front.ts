/** Wires the addresses at which the embedded Restate is found. */
import type { Server } from "node:http";
import { createAdminFront, createIngressFront, type Front } from "#control/front/front.ts";
import { createIdentify } from "#control/token.ts";
import { listening } from "#kernel/listen.ts";
import type { Base } from "./base.ts";
import type { Stops } from "./stops.ts";

type FrontParts = { ingressUrl: string; adminUrl: string; actorKey: Uint8Array; stops: Stops };

/**
 * Answers the addresses for `endpoints.json`: ours, or, of an external Restate that we are not to stand
 * in front of, its own.
 */
export async function startRestateFront(base: Base, parts: FrontParts) {
  const { config, credentials, log } = base;
  const { ingressUrl, adminUrl, actorKey, stops } = parts;
  const identify = createIdentify({
    ingressToken: credentials.ingress_token,
    operators: config.control.operators,
  });
  const settings = { ingressUrl, adminUrl, identify, actorKey, log };
  const { ingress_port: ingressPort, admin_port: adminPort, front_host } = config.restate;
  const isExternal = config.restate.ingress_url !== "";
  if (isExternal && front_host === "") {
    return { restate_ingress: ingressUrl, restate_admin: adminUrl };
  }
  const host = isExternal ? front_host : "127.0.0.1";
  const start = async ({ server, close }: Front, port: number, setting: string) => {
    const address = await listening(listen(server, { host, port }), { port, setting });
    stops.add(setting, close);
    return address;
  };
  return {
    restate_ingress: await start(createIngressFront(settings), ingressPort, "restate.ingress_port"),
    restate_admin: await start(createAdminFront(settings), adminPort, "restate.admin_port"),
  };
}

function listen(server: Server, { host, port }: { host: string; port: number }): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      const at = server.address();
      resolve(`http://${host}:${typeof at === "object" ? at?.port : port}`);
    });
  });
}
