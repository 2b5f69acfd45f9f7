/** The public API's HTTP side alone, for tests that need no database. */
import { createAuthenticate } from "#api/authenticate.ts";
import type { Procedures } from "#api/procedure.ts";
import { createServer } from "#api/server.ts";
import { createLog } from "#kernel/log.ts";

export function testServer(namespaces: Record<string, Procedures> = {}) {
  return createServer({
    authenticate: createAuthenticate(() => undefined),
    admit: () => undefined,
    validatesAnswers: true,
    log: createLog({ level: "silent", format: "json" }),
    docsUrl: "https://docs.test/errors",
    trustProxy: false,
    namespaces,
  });
}
