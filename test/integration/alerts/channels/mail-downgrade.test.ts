/** Mail servers that leave TLS out, refuse it, or have a certificate of their own get no password, nor a mail. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { TLSSocket } from "node:tls";
import { expect, it, onTestFinished } from "vitest";
import { createSendToChannel } from "#alerts/channels/send.ts";
import type { DirectChannel } from "#alerts/rows/contract.ts";
import { buildMessage } from "../../../support/alerts/message-builders.ts";
import { createSelfSigned } from "../../../support/http/self-signed.ts";

/** Loopback may be without TLS; a server at this address may not. */
const outside = Object.values(networkInterfaces())
  .flatMap((all = []) => all)
  .find(({ internal, family }) => !internal && family === "IPv4")?.address;

const password = "correct horse 71";

/** `starttls`: what it answers to that; undefined: it starts TLS. */
type Server = { offers: string[]; starttls?: string; greeting?: string };

async function startServer({ offers, starttls, greeting = "220 a ESMTP\r\n" }: Server) {
  const heard: string[] = [];
  const pair = await createSelfSigned(["mail.example.com"], new Date(Date.now() + 86_400_000));
  const secure = (socket: Socket) => {
    socket.write("220 go on\r\n");
    socket.removeAllListeners("data");
    serve(new TLSSocket(socket, { isServer: true, ...pair }), ["AUTH PLAIN LOGIN"]);
  };
  const serve = (socket: Socket, offered: string[]) => {
    socket.on("error", () => {});
    const answer = (command: string) => {
      if (command === "EHLO") return `${["250-a", ...offered].join("\r\n250-")}\r\n250 HELP\r\n`;
      return command === "DATA" ? "354 go on\r\n" : "250 ok\r\n";
    };
    socket.on("data", (chunk: Buffer) => {
      heard.push(chunk.toString("latin1"));
      const [command = ""] = chunk.toString("latin1").toUpperCase().split(/\s/);
      if (command === "STARTTLS" && starttls === undefined) secure(socket);
      else socket.write((command === "STARTTLS" && starttls) || answer(command));
    });
  };
  const server = createServer((socket) => {
    serve(socket, offers);
    socket.write(greeting);
  });
  server.listen(0, "0.0.0.0");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { heard, port: (server.address() as AddressInfo).port };
}

async function send(host: string, server: Server, channel: Partial<DirectChannel> = {}) {
  const { heard, port } = await startServer(server);
  const at = `${host}:${port}`;
  const values: Record<string, string> = {
    PASSWORD: password,
    MAIL: `smtp://ops:${encodeURIComponent(password)}@${at}`,
  };
  const sendToChannel = createSendToChannel({
    readSecret: (name) => {
      const value = values[name];
      return value === undefined ? undefined : { value, bindings: [{ name, hosts: at }] };
    },
    timeoutMs: 3_000,
    nowMs: Date.now,
  });
  const row = {
    ...{ id: "m", kind: "email", url: `smtp://${at}`, tls: "optional", from: "a@example.com" },
    ...{ to: ["b@example.com"], user: "ops", secret: "{{PASSWORD}}", ...channel },
  } as DirectChannel;
  const { kind } = await sendToChannel(row, buildMessage());
  const all = heard.join("");
  const plain = Buffer.from(`\0ops\0${password}`).toString("base64");
  const isSent = [password, plain, Buffer.from(password).toString("base64"), "AUTH"].some((part) =>
    all.includes(part),
  );
  return { kind, isSent, isMailed: all.includes("MAIL FROM") };
}

const auth = ["AUTH PLAIN LOGIN CRAM-MD5"];
const servers: [string, Server][] = [
  ["leaves STARTTLS out", { offers: auth }],
  ["refuses it for now", { offers: ["STARTTLS", ...auth], starttls: "454 later\r\n" }],
  ["does not know it", { offers: ["STARTTLS", ...auth], starttls: "502 what\r\n" }],
  ["has a certificate of its own", { offers: ["STARTTLS", ...auth] }],
  [
    "goes on in clear after it",
    { offers: ["STARTTLS"], starttls: "220 ok\r\n250-a\r\n250 AUTH PLAIN\r\n" },
  ],
  [
    "answers before it is asked",
    { offers: auth, starttls: "250 ok\r\n", greeting: "220 a\r\n250-a\r\n250 AUTH PLAIN\r\n" },
  ],
  ["is of no SMTP with extensions", { offers: [], starttls: "500 what\r\n" }],
];

const rows: [string, Partial<DirectChannel>][] = [
  ["of a row's user", {}],
  ["in a secret address", { url: "{{MAIL}}", user: undefined, secret: undefined } as never],
];

it
  .skipIf(outside === undefined)
  .each(servers.flatMap(([what, server]) => rows.map(([of, row]) => ({ what, of, server, row }))))(
  "a password $of is not sent to a server that $what",
  async ({ server, row }) => {
    const outcome = await send(outside ?? "", server, row);

    expect(outcome).toEqual({ kind: "retry", isSent: false, isMailed: false });
  },
);

it("the same password is sent to such a server at this machine", async () => {
  const server = { offers: ["AUTH PLAIN"], starttls: "502 what\r\n" };

  expect(await send("127.0.0.1", server)).toMatchObject({ isSent: true });
});
