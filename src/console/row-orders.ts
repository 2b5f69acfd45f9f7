/** Routes by which an operator adds and removes rows about rollouts: windows, pins and promotions. */
import { randomUUID } from "node:crypto";
import type { FastifyInstance } from "fastify";
import type { z } from "zod";
import type { Log } from "#kernel/log.ts";
import { pinHandlers, pinsName } from "#rollout/choice/contract.ts";
import { promotionHandlers, promotionsName } from "#rollout/promotions/contract.ts";
import { windowHandlers, windowsName } from "#rollout/windows/contract.ts";
import type { ConsoleAccess } from "./contract.ts";
import type { Guard } from "./guard.ts";
import { parseBody } from "./parse.ts";

type Parts = { access: ConsoleAccess; guard: Guard; log: Log };

type Input = { input: z.ZodType<{ id: string }> };
type Kind = { service: string; handlers: { Add: Input; Remove: Input } };

const kinds: Record<string, Kind> = {
  window: { service: windowsName, handlers: windowHandlers },
  pin: { service: pinsName, handlers: pinHandlers },
  promotion: { service: promotionsName, handlers: promotionHandlers },
};

const orders = { add: "Add", remove: "Remove" } as const;

export function serveRowOrders(app: FastifyInstance, { access, guard, log }: Parts): void {
  for (const [kind, { service, handlers }] of Object.entries(kinds)) {
    for (const [name, handler] of Object.entries(orders)) {
      app.post(`/api/${kind}/${name}`, async (request) => {
        const by = await guard.requireWriter(request);
        const body = parseBody(handlers[handler].input, request.body);
        const path = `/${service}/${handler}`;
        log.info({ actor: by.actor, path, [kind]: body.id }, "ordered from the console");
        return access.call({ path, body, by, idempotencyKey: `console-${randomUUID()}` });
      });
    }
  }
}
