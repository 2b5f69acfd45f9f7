/** How answers leave that cannot be sent as they are. */
import { pino } from "pino";
import { expect, it } from "vitest";
import { z } from "zod";
import { createAuthenticate } from "#api/access/authenticate.ts";
import { hashKey } from "#api/cache/key-record.ts";
import type { ServerParts } from "#api/http/server.ts";
import { procedure } from "#api/procedure.ts";
import { testServer } from "../../support/api/api-server.ts";
import { buildKeyRecord } from "../../support/api/key-builders.ts";

/** Answers with `data`, which may be something else than it declares. */
function answering(data: unknown) {
  return procedure({
    summary: "Answers.",
    input: z.strictObject({}),
    output: z.object({ count: z.number() }),
    example: { body: {}, data: { count: 1 } },
    handle: () => ({ data: data as { count: number } }),
  });
}

function call(data: unknown, parts: Partial<ServerParts> = {}) {
  const record = buildKeyRecord({ forWorkspaceId: "ws_1" });
  const authenticate = createAuthenticate({
    get: (hash) => (hash === hashKey("root") ? record : undefined),
  });
  const procedures = { tests: { answer: answering(data) } };
  const app = testServer(procedures, { authenticate, validatesAnswers: false, ...parts });
  const headers = { authorization: "Bearer root" };
  return app.inject({ method: "POST", url: "/v2/tests.answer", headers, payload: {} });
}

it("the router answers what the procedure returns", async () => {
  const answer = await call({ count: 7 });

  expect([answer.statusCode, answer.json().data]).toEqual([200, { count: 7 }]);
});

it("the router answers 500 for what cannot be serialized", async () => {
  const answer = await call({ count: { toString: () => ({}) } });

  expect(answer.statusCode).toBe(500);
});

it("the router answers 500 when the headers of an answer cannot be sent, and logs why", async () => {
  const logged: string[] = [];
  const log = pino({ level: "error" }, { write: (line: string) => logged.push(line) });

  const answer = await call({ count: 7 }, { admit: () => ({ "x-note": "two\nlines" }), log });

  expect(answer.statusCode).toBe(500);
  expect(logged.join("")).toContain("x-note");
});
