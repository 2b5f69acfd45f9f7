/** Whoever sends requests ahead and reads no answer holds one answer in memory, whatever else they have asked for. */
import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { type FastifyInstance, fastify } from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { limitPipelines } from "#kernel/server.ts";
import { createPublicPages } from "#monitor/results/public-pages.ts";

const ahead = 32;

async function start(): Promise<{ begun: string[]; client: Socket; url: string }> {
  const begun: string[] = [];
  const app: FastifyInstance = fastify();
  limitPipelines(app);
  app.get<{ Params: { name: string } }>("/:name", async ({ params }) => {
    begun.push(params.name);
    // More than the buffers of two sockets hold.
    return params.name === "small" ? "" : `${params.name} ${"x".repeat(12_000_000)}`;
  });
  app.post("/", async ({ body }) => JSON.stringify(body));
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  const client = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
  onTestFinished(async () => {
    client.destroy();
    await app.close();
  });
  await once(client, "connect");
  return { begun, client, url };
}

const get = (name: string) => `GET /${name} HTTP/1.1\r\nhost: x\r\n\r\n`;

it("of requests that are sent ahead one is begun at a time, and other connections wait for none", async () => {
  const { begun, client, url } = await start();
  client.pause();
  client.write(Array.from({ length: ahead }, (_, at) => get(`big-${at}`)).join(""));
  await expect.poll(() => begun.length).toBeGreaterThan(0);

  for (let at = 0; at < 5; at += 1) await (await fetch(`${url}/small`)).text();

  expect(begun.filter((name) => name !== "small")).toEqual(["big-0"]);
});

it("a client that reads gets all that it has asked for ahead, in order, bodies too", async () => {
  const { client } = await start();
  const post = (text: string) =>
    `POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
  let read = "";
  client.setEncoding("latin1").on("data", (text: string) => {
    read += text;
  });

  client.write([get("a"), post('"b"'), get("small"), post('"c"'), get("d")].join(""));

  await expect.poll(() => read.length, { timeout: 20_000 }).toBeGreaterThan(24_000_000);
  const [, ...parts] = read.split("\r\n\r\n");
  const bodies = parts.map((part) => (part.split("HTTP/1.1")[0] ?? "").replaceAll("x", "").trim());
  expect(bodies).toEqual(["a", '"b"', "", '"c"', "d"]);
});

it("all who ask for the public status within two seconds have the same bytes", async () => {
  const list = { taken_at: "2026-01-01T00:00:00.000Z", checks: [] };
  let now = list;
  const findPage = createPublicPages((async () => now) as never);
  const read = async () => (await findPage("/status.json"))?.body;

  const [one, other] = [await read(), await read()];
  now = { ...list, taken_at: "2026-01-01T00:00:02.000Z" };

  expect(one).toBeInstanceOf(Buffer);
  expect(other).toBe(one);
  expect(String(await read())).toContain("00:00:02");
});
