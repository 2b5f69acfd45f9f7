/** The public API's HTTP side alone, for tests that need no database. */
import { createAuthenticate } from "#api/access/authenticate.ts";
import { createServer, type ServerParts } from "#api/http/server.ts";
import type { Procedures } from "#api/procedure.ts";
import { createLog } from "#kernel/log.ts";

/** `parts` over those of a server that knows no key. */
export function testServer(
  namespaces: Record<string, Procedures> = {},
  parts: Partial<ServerParts> = {},
) {
  return createServer({
    authenticate: createAuthenticate({ get: () => undefined }),
    admit: () => undefined,
    validatesAnswers: true,
    log: createLog({ level: "silent", format: "json" }),
    docsUrl: "https://docs.test/errors",
    trustProxy: false,
    namespaces,
    ...parts,
  });
}
