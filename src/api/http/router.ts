/** The routes of the procedures, `/v2/<namespace>.<name>`, served by Fastify. */
import type { FastifyInstance } from "fastify";
import type { Procedures } from "#api/procedure.ts";
import { type AnsweringParts, type BeginAnswer, createAnswering, type Route } from "./answering.ts";
import { createKeyCheck } from "./large-bodies.ts";
import { send } from "./wire-answer.ts";

/** A procedure's route as it is served. */
export type MountedRoute = Route & { begin: BeginAnswer };

/** A route for each procedure of each namespace. */
export function mountProcedures(
  app: FastifyInstance,
  namespaces: Record<string, Procedures>,
  parts: AnsweringParts,
): MountedRoute[] {
  const preParsing = createKeyCheck(parts.authenticate);
  const routes = Object.entries(namespaces).flatMap(([namespace, procedures]) =>
    Object.entries(procedures).map(([name, procedure]) => {
      const route = { path: `/v2/${namespace}.${name}`, procedure };
      return { ...route, begin: createAnswering(route, parts) };
    }),
  );
  for (const { path, procedure, begin } of routes) {
    app.post(path, { config: { procedure }, preParsing }, (request, reply) =>
      begin(request, (answer) => send(reply, answer)),
    );
  }
  return routes;
}
