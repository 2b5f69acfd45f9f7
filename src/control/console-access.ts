/** The console's access: it identifies operators, and makes calls in their name. */
import { createHmac } from "node:crypto";
import type { ConsoleAccess, ProviderAccess } from "#console/contract.ts";
import type { FleetOperators } from "#fleet/contract.ts";
import type { RecordAccess } from "#kernel/audit.ts";
import type { Log } from "#kernel/log.ts";
import { isAllowed } from "#kernel/roles.ts";
import type { Ingress } from "./ingress.ts";
import {
  calledPath,
  noSuchHandler,
  refuseForIngress,
  requireAccess,
  requireFleet,
} from "./refusal.ts";
import { findRoute, isRecorded, roleOf, signedName } from "./routes.ts";
import { type Identify, markedCallers, type Tokens } from "./token.ts";

type Parts = {
  /** Identifies a caller by a token alone. */
  identify: Identify;
  ingress: Ingress;
  log: Log;
  provider: ProviderAccess | undefined;
};

export function consoleAccess(
  settings: Tokens & { fleets?: readonly FleetOperators[]; record?: RecordAccess },
  { identify, ingress, log, provider }: Parts,
): ConsoleAccess {
  return {
    identify,
    ...(provider !== undefined && { provider }),
    callers: markedCallers(settings),
    sessionKey: createHmac("sha256", settings.ingressToken).update("vedette console").digest(),
    findHandler: (path) => {
      const route = findRoute(path);
      return route && { ...route, role: roleOf(route) };
    },
    call: async ({ path, body, by, idempotencyKey, blocks = false, signal, remote }) => {
      const route = findRoute(path);
      if (route === undefined) throw noSuchHandler();
      requireFleet(path, settings.fleets);
      if (!isAllowed(by, roleOf(route))) log.warn({ path, actor: by.actor }, "call not allowed");
      requireAccess(by, { route, path, fleets: settings.fleets });
      if (isRecorded(route)) {
        await settings.record?.({ event: "call", actor: by.actor, remote, what: calledPath(path) });
      }
      const answer = await ingress.call({
        path,
        body,
        actor: signedName(by, path),
        reader: by.actor,
        accounts: by.accounts,
        idempotencyKey,
        blocks,
        signal: signal ?? new AbortController().signal,
      });
      if (answer.status >= 400) throw refuseForIngress(answer);
      return answer.body;
    },
  };
}
