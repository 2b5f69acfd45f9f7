/** An id that somebody else has given does not lead a request to another path of its server. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { request } from "#kernel/http.ts";
import { createReader, createService } from "#routing/incident/service.ts";
import { createSend } from "#routing/incident/transport.ts";
import { createSourceTokens } from "#routing/tokens/source-tokens.ts";

/** Answers each request with the value; `asked` are the requests. */
async function serve(value: object) {
  const asked: string[] = [];
  const server = createServer((incoming, answer) => {
    asked.push(`${incoming.method} ${incoming.url}`);
    answer.setHeader("content-type", "application/json");
    answer.end(JSON.stringify(value));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

it.each(["..", ".", "%2e%2e", "%2E.", "..\\", "../x", "..?a=b", "..#a", ""])(
  "a request to a path with the name %j goes to no other path",
  async (name) => {
    const { url, asked } = await serve({});

    await request(`${url}/v2/routes/${name}`).catch(() => {});

    expect(asked.every((one) => one.startsWith("GET /v2/routes/"))).toBe(true);
    expect(asked).toHaveLength(name === "" ? 1 : 0);
  },
);

it.each(["...", "..a", "a..", ".well-known", "a?b=/../c", "a%2Fb", "%2e%2ea"])(
  "a request to a path with the name %j is sent",
  async (name) => {
    const { url, asked } = await serve({});

    await request(`${url}/v2/${name}`);

    expect(asked).toEqual([`GET /v2/${name}`]);
  },
);

it.each(["..", "."])(
  "a route that calls itself %s is not deleted by a call of another path",
  async (id) => {
    const { url, asked } = await serve({});
    const service = createService(createSend({ url, apiKey: "key" }));

    const reply = await service.deleteRoute(id);

    expect(reply.kind).toBe("lost");
    expect(asked).toEqual([]);
  },
);

it.each(["..", ".", "a/b", "a\\b", "a\u001b[2J", "a\u202eb", "a".repeat(101)])(
  "a list with a route that calls itself %s is refused",
  async (id) => {
    const { url } = await serve({ alert_routes: [{ id, name: "Ours" }] });

    const listed = await createReader(createSend({ url, apiKey: "key" })).listRoutes();

    expect(listed).toMatchObject({ kind: "failed" });
  },
);

it("a list with a usual route is read", async () => {
  const { url } = await serve({ alert_routes: [{ id: "01ABC", name: "Ours" }] });

  const listed = await createReader(createSend({ url, apiKey: "key" })).listRoutes();

  expect(listed).toEqual({ kind: "done", value: [{ id: "01ABC", name: "Ours" }] });
});

it("a source that calls itself .. is not asked for at another path", async () => {
  const { url, asked } = await serve({ alert_sources: [{ id: "..", name: "Ours" }] });
  const tokens = createSourceTokens({ url, apiKey: "key", attempts: 1 });

  await expect(tokens.read({ kind: "http", id: "", title: "Ours" })).rejects.toThrow();

  expect(asked).toEqual(["GET /v2/alert_sources"]);
});
