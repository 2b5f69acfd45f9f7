/** Routes by which an operator acts on checks and alert events. */
import { randomUUID } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { alertEventHandlers, alertEvents } from "#alerts/contract.ts";
import type { Log } from "#kernel/log.ts";
import type { Caller } from "#kernel/roles.ts";
import {
  apiCheckHandlers,
  apiCheckService,
  heartbeatService,
  operatorHandlers,
} from "#monitor/operations/contract.ts";
import type { ConsoleAccess } from "./contract.ts";
import type { Guard } from "./guard.ts";
import { parseBody } from "./parse.ts";

type Parts = { access: ConsoleAccess; guard: Guard; log: Log };

const services = { api: apiCheckService, heartbeat: heartbeatService } as const;

/** Names a check; its id is a segment of the path of the call to Restate. */
const OfCheck = z.object({
  check: z.string().regex(/^[a-z0-9-]{1,100}$/),
  kind: z.enum(["api", "heartbeat"]),
});

/** The alert that the page shows. */
const OfAlert = OfCheck.extend({ episode: z.int() });

const orders = {
  mute: "Mute",
  unmute: "Unmute",
  maintenance: "Maintenance",
  "end-maintenance": "EndMaintenance",
} as const;

export function serveCheckOrders(app: FastifyInstance, { access, guard, log }: Parts): void {
  const send = (path: string, body: unknown, by: Caller) => {
    log.info({ actor: by.actor, path }, "ordered from the console");
    return access.call({ path, body, by, idempotencyKey: `console-${randomUUID()}` });
  };
  for (const [name, handler] of Object.entries(orders)) {
    app.post(`/api/check/${name}`, async (request) => {
      const by = await guard.requireWriter(request);
      const { check, kind, ...body } = parseBody(OfCheck.loose(), request.body);
      const parsed = parseBody(operatorHandlers[handler].input, body);
      return send(`/${services[kind]}/${check}/${handler}`, parsed, by);
    });
  }
  app.post("/api/check/acknowledge", async (request) => {
    const by = await guard.requireWriter(request);
    const { check, kind, episode } = parseBody(OfAlert, request.body);
    return send(`/${services[kind]}/${check}/Acknowledge`, { by: by.actor, episode }, by);
  });
  app.post("/api/check/run", async (request) => {
    const by = await guard.requireWriter(request);
    const { check } = parseBody(OfCheck, request.body);
    const body = parseBody(apiCheckHandlers.Run.input, {});
    return access.call({ path: `/${apiCheckService}/${check}/Run`, body, by });
  });
  app.post("/api/alert/retry", async (request) => {
    const by = await guard.requireWriter(request);
    const body = parseBody(alertEventHandlers.Retry.input, request.body);
    return send(`/${alertEvents.name}/Retry`, body, by);
  });
}
