/** Wires the guarded addresses of Restate. */
import type { Server } from "node:http";
import { createIsKeyReused } from "#control/call-keys.ts";
import { createAdminFront, createIngressFront, type Front } from "#control/front/front.ts";
import type { SignIn } from "#control/sign-in/sign-in.ts";
import { createFindCaller, createIdentify } from "#control/token.ts";
import { httpUrl } from "#kernel/address.ts";
import type { Database } from "#kernel/database.ts";
import { listening } from "#kernel/server.ts";
import type { Base } from "./base.ts";
import { fleetsOf } from "./fleets.ts";
import type { Stops } from "./stops.ts";

type FrontParts = {
  ingressUrl: string;
  adminUrl: string;
  actorKey: Uint8Array;
  signIn: SignIn | undefined;
  database: Database;
  stops: Stops;
};

/** `addresses` are for `endpoints.json`; `close` may be called more than once. */
type RestateFront = {
  addresses: { restate_ingress: string; restate_admin: string };
  close: () => Promise<unknown>;
};

/** Starts the front, unless Restate is external and no `front_host` is set: then the addresses are its own. */
export async function startRestateFront(base: Base, parts: FrontParts): Promise<RestateFront> {
  const { config, credentials, log } = base;
  const { ingressUrl, adminUrl, actorKey, stops } = parts;
  const { operators } = config.control;
  const byToken = createIdentify({ ingressToken: credentials.ingress_token, operators });
  const identify = createFindCaller(byToken, parts.signIn?.find, parts.signIn?.link);
  const fleets = fleetsOf(config);
  const isKeyReused = createIsKeyReused(parts.database, log);
  const settings = { ingressUrl, adminUrl, identify, actorKey, fleets, isKeyReused, log };
  const { ingress_port: ingressPort, admin_port: adminPort, front_host } = config.restate;
  const isExternal = config.restate.ingress_url !== "";
  if (isExternal && front_host === "") {
    const addresses = { restate_ingress: ingressUrl, restate_admin: adminUrl };
    return { addresses, close: async () => {} };
  }
  const host = isExternal ? front_host : "127.0.0.1";
  const start = async ({ server, close }: Front, port: number, setting: string) => {
    const address = await listening(listen(server, { host, port }), { port, setting });
    stops.add(setting, close);
    base.own("Restate", address);
    return address;
  };
  const fronts = { ingress: createIngressFront(settings), admin: createAdminFront(settings) };
  const addresses = {
    restate_ingress: await start(fronts.ingress, ingressPort, "restate.ingress_port"),
    restate_admin: await start(fronts.admin, adminPort, "restate.admin_port"),
  };
  return { addresses, close: () => Promise.all([fronts.ingress.close(), fronts.admin.close()]) };
}

function listen(server: Server, { host, port }: { host: string; port: number }): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      const at = server.address();
      resolve(httpUrl({ host, port: typeof at === "object" ? (at?.port ?? port) : port }));
    });
  });
}
