/** Bodies of many tiny chunks, each of which costs a hundred bytes and more by itself, and bodies that nobody needs. */
import { once } from "node:events";
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import { Registry } from "prom-client";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { procedure } from "#api/procedure.ts";
import { createMetricsServer } from "#metrics/server.ts";
import { testServer } from "../../support/api/api-server.ts";
import { dial } from "../../support/rollout/sentinel.ts";
import { usedHeap } from "../../support/used-heap.ts";
import { waitFor } from "../../support/wait-for.ts";

const echo = procedure({
  summary: "Answers with the length of a text.",
  input: z.object({ text: z.string() }),
  output: z.object({ length: z.number() }),
  example: { body: { text: "" }, data: { length: 0 } },
  handle: ({ text }) => ({ data: { length: text.length } }),
});

const startApi = async () => {
  const grants = { allow: () => true, names: () => [] } as never;
  const caller = { keyId: "k", name: undefined, workspaceId: "w", limitPerMinute: undefined };
  return listen(testServer({ test: { echo } }, { authenticate: () => ({ ...caller, grants }) }));
};

const startMetrics = () =>
  listen(createMetricsServer(new Registry(), () => ({ status: "ready" }) as never));

const listen = async (app: FastifyInstance) => {
  onTestFinished(() => app.close());
  return { app, url: await app.listen({ host: "127.0.0.1", port: 0 }) };
};

const head = (path: string) =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\n` +
  "Transfer-Encoding: chunked\r\n\r\n";

it("the API holds a body of single bytes as one of whole packets", async () => {
  const { app, url } = await startApi();
  const accepted = once(app.server, "connection");
  const connection = await dial(url);
  const [socket] = (await accepted) as [Socket];
  const begin = `${head("/v2/test.echo")}9\r\n{"text":"\r\n`;
  const bytes = "1\r\nx\r\n".repeat(100_000);
  connection.send(begin);
  const before = usedHeap();

  connection.send(bytes);
  await waitFor(() => socket.bytesRead >= begin.length + bytes.length, {
    withinMs: 60_000,
    what: "the API to have read all bytes",
  });

  expect(usedHeap() - before).toBeLessThan(5_000_000);
  connection.send('2\r\n"}\r\n0\r\n\r\n');
  await connection.received(/"length":100000/);
});

it.each([
  ["the API's addresses that are no procedure", startApi, "/v2/test.nothing"],
  ["the metrics port, at a page", startMetrics, "/metrics"],
  ["the metrics port, elsewhere", startMetrics, "/x"],
])("a caller without a key is answered before its body, at %s", async (_where, start, path) => {
  const { url } = await start();
  const connection = await dial(url);

  connection.send(`${head(path)}5\r\n[1,2,\r\n`);

  await connection.received(/^HTTP\/1\.1 404 /);
});
