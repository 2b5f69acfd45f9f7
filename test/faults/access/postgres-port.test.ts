/** Another user of the machine listens at the embedded Postgres's port while that is down. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { Client } from "#kernel/database-connection.ts";

/** Messages of the protocol: the kind, the length, and what authentication is asked for. */
const ask = (kind: number, more = "") => {
  const message = Buffer.alloc(9);
  message.write("R");
  message.writeInt32BE(8 + more.length, 1);
  message.writeInt32BE(kind, 5);
  return Buffer.concat([message, Buffer.from(more)]);
};
const ready = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/** Notes what it gets after the greeting. */
async function listen(...answers: Buffer[]) {
  const got: string[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.on("data", (data) => got.push(data.toString()));
      socket.write(Buffer.concat(answers));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { got, port: (server.address() as AddressInfo).port };
}

const connectTo = async (port: number, query: string) => {
  const connectionString = `postgres://vedette:the-password@127.0.0.1:${port}/vedette${query}`;
  const client = new Client({
    connectionString,
    connectionTimeoutMillis: 2_000,
    query_timeout: 500,
  });
  client.on("error", () => {});
  await client.connect();
  await client.query("SELECT 'a query'");
};

const impostors: [how: string, ...answers: Buffer[]][] = [
  ["asks for the password", ask(3)],
  ["asks for its MD5", ask(5, "salt")],
  ["asks for nothing", ask(0), ready],
];

it.each(impostors)("a server that %s gets neither password nor query", async (_how, ...answers) => {
  const { got, port } = await listen(...answers);

  await expect(connectTo(port, "?require_auth=scram-sha-256")).rejects.toThrow();

  expect(got.join("")).not.toMatch(/^[pQ]/);
});

it.each(impostors)("a server of the settings that %s is answered", async (_how, ...answers) => {
  const { got, port } = await listen(...answers);

  await expect(connectTo(port, "")).rejects.toThrow();

  await expect.poll(() => got.join("")).toMatch(/^p\0\0\0.(?:the-password|md5)|^Q.*a query/s);
});
