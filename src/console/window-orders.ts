/** Routes by which an operator adds and removes windows of rollouts. */
import { randomUUID } from "node:crypto";
import type { FastifyInstance } from "fastify";
import type { Log } from "#kernel/log.ts";
import { windowHandlers, windowsName } from "#rollout/windows/contract.ts";
import type { ConsoleAccess } from "./contract.ts";
import type { Guard } from "./guard.ts";
import { parseBody } from "./parse.ts";

type Parts = { access: ConsoleAccess; guard: Guard; log: Log };

const orders = { add: "Add", remove: "Remove" } as const;

export function serveWindowOrders(app: FastifyInstance, { access, guard, log }: Parts): void {
  for (const [name, handler] of Object.entries(orders)) {
    app.post(`/api/window/${name}`, async (request) => {
      const { actor } = await guard.requireWriter(request);
      const body = parseBody(windowHandlers[handler].input, request.body);
      const path = `/${windowsName}/${handler}`;
      log.info({ actor, path, window: body.id }, "ordered from the console");
      return access.call({ path, body, actor, idempotencyKey: `console-${randomUUID()}` });
    });
  }
}
