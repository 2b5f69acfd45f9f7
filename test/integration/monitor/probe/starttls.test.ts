/** Checks of certificates that are behind STARTTLS, against real servers and ones that do all that servers do wrong. */
import { chownSync, statSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createSecureContext, TLSSocket } from "node:tls";
import pg from "pg";
import { pino } from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import { startPostgres } from "#embedded/postgres.ts";
import type { StartTlsProtocol } from "#monitor/kinds/starttls.ts";
import { probeTls } from "#monitor/kinds/tls.ts";
import { createSelfSigned } from "../../../support/http/self-signed.ts";
import { startMailServer } from "../../../support/servers/mail-server.ts";
import { makeTempDir } from "../../../support/temp-dir.ts";
import { waitFor } from "../../../support/wait-for.ts";

const dayMs = 86_400_000;
const tenDays = () => createSelfSigned(["localhost"], new Date(Date.now() + 10.5 * dayMs));
const trusted = { outcome: { kind: "certificate" }, tlsDaysLeft: 10 };

type At = { port: number; starttls: StartTlsProtocol; ca?: string; timeoutMs?: number };

const probe = ({ port, starttls, ca, timeoutMs = 20_000 }: At) =>
  probeTls(
    { host: "localhost", port, servername: "localhost", starttls },
    { timeoutMs, ...(ca !== undefined && { ca }) },
  );

/** Speaks first, then answers each request with the next of these, and after the last one speaks TLS if it has a certificate. */
async function serveDialog(
  [greeting, ...answers]: readonly string[],
  { key, cert }: { key?: string; cert?: string } = {},
): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    const rest = [...answers];
    if (greeting !== undefined) socket.write(greeting, "latin1");
    const answer = () => {
      socket.write(rest.shift() ?? "", "latin1");
      if (rest.length > 0) return;
      socket.off("data", answer);
      if (key === undefined || cert === undefined) return;
      const secureContext = createSecureContext({ key, cert });
      new TLSSocket(socket, { isServer: true, secureContext }).on("error", () => {}).resume();
    };
    socket.on("data", answer);
  });
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const faultOf = async (
  starttls: StartTlsProtocol,
  dialog: readonly string[],
  timeoutMs = 5_000,
) => {
  const { outcome } = await probe({ port: await serveDialog(dialog), starttls, timeoutMs });
  return outcome.kind === "error" ? outcome.reason : outcome.kind;
};

describe("a mail server", () => {
  it("is asked for TLS before its certificate is read", async () => {
    const { key, cert } = await tenDays();
    const { port } = await startMailServer({ key, cert });

    expect(await probe({ port, starttls: "smtp", ca: cert })).toMatchObject(trusted);
  });

  it("without a certificate offers no STARTTLS", async () => {
    const { port } = await startMailServer();

    expect((await probe({ port, starttls: "smtp" })).outcome).toEqual({
      kind: "error",
      reason: "the server offers no STARTTLS",
    });
  });

  it("may answer in many lines, and in either case", async () => {
    const pair = await tenDays();
    const port = await serveDialog(
      [
        "220-mail.example.com ESMTP\r\n220-no spam\r\n220 ready\r\n",
        "250-mail.example.com\r\n250-SIZE 1000\r\n250-starttls\r\n250 HELP\r\n",
        "220 2.0.0 go on\r\n",
      ],
      pair,
    );

    expect(await probe({ port, starttls: "smtp", ca: pair.cert })).toMatchObject(trusted);
  });

  const hello = "250-x\r\n250 STARTTLS\r\n";

  it.each<[string, string[], string]>([
    ["refuses", ["554 no\r\n"], 'the server does not start TLS, but answers "554 no"'],
    [
      "knows no EHLO",
      ["220 x\r\n", "502 what\r\n"],
      'the server does not start TLS, but answers "502 what"',
    ],
    [
      "has no certificate",
      ["220 x\r\n", hello, "454 later\r\n"],
      'the server does not start TLS, but answers "454 later"',
    ],
    [
      "adds to its answer",
      ["220 x\r\n", hello, "220 go\r\n250 injected\r\n"],
      "the server sends more than its answer before TLS starts",
    ],
    [
      "has a greeting without an end",
      ["220-x\r\n".repeat(10_000)],
      "the server's answer has no end",
    ],
  ])("that %s fails", async (_, dialog, reason) => {
    expect(await faultOf("smtp", dialog)).toBe(reason);
  });

  it("that says nothing fails in time", async () => {
    expect(await faultOf("smtp", [""], 300)).toBe("no connection within 300 ms");
  });

  it("that hangs up fails", async () => {
    const server = createServer((socket) => void socket.end("220-x\r\n"));
    await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;

    expect((await probe({ port, starttls: "smtp" })).outcome).toEqual({
      kind: "error",
      reason: "connection closed before TLS started",
    });
  });
});

describe("a mailbox server", () => {
  it.each([
    [
      "Dovecot",
      "* OK [CAPABILITY IMAP4rev1 STARTTLS LOGINDISABLED] Dovecot ready.\r\n",
      "a1 OK Begin TLS negotiation now.\r\n",
    ],
    [
      "Courier",
      "* OK [CAPABILITY IMAP4rev1] Courier-IMAP ready. Copyright\r\n",
      "a1 OK Begin SSL/TLS negotiation now.\r\n",
    ],
    [
      "Cyrus",
      "* OK [CAPABILITY IMAP4rev1 STARTTLS] x Cyrus IMAP 3 server ready\r\n",
      "* CAPABILITY IMAP4rev1\r\nA1 ok Begin TLS negotiation now\r\n",
    ],
  ])("like %s is asked for TLS before its certificate is read", async (_, ...dialog) => {
    const pair = await tenDays();
    const port = await serveDialog(dialog, pair);

    expect(await probe({ port, starttls: "imap", ca: pair.cert })).toMatchObject(trusted);
  });

  it.each<[string, string[], string]>([
    [
      "is busy",
      ["* BYE too many\r\n"],
      'the server does not start TLS, but answers "* BYE too many"',
    ],
    [
      "knows no TLS",
      ["* OK x\r\n", "a1 BAD unknown\r\n"],
      'the server does not start TLS, but answers "a1 BAD unknown"',
    ],
    [
      "adds to its answer",
      ["* OK x\r\n", "a1 OK go\r\na2 OK injected\r\n"],
      "the server sends more than its answer before TLS starts",
    ],
  ])("that %s fails", async (_, dialog, reason) => {
    expect(await faultOf("imap", dialog)).toBe(reason);
  });
});

describe("Postgres", () => {
  const start = async () => {
    const dir = makeTempDir();
    const server = await startPostgres({
      dataDir: dir.path,
      port: 0,
      password: "test",
      options: ["fsync=off"],
      log: pino({ level: "silent" }),
    });
    onTestFinished(() => server.stop().finally(dir.remove));
    const port = Number(new URL(server.url).port);
    const turnOn = async ({ key, cert }: { key: string; cert: string }) => {
      const { uid, gid } = statSync(`${dir.path}/postgres`);
      for (const [name, text] of [
        ["server.key", key],
        ["server.crt", cert],
      ] as const) {
        writeFileSync(`${dir.path}/postgres/${name}`, text, { mode: 0o600 });
        chownSync(`${dir.path}/postgres/${name}`, uid, gid);
      }
      const client = new pg.Client(server.url);
      await client.connect();
      await client.query("ALTER SYSTEM SET ssl = on");
      await client.query("SELECT pg_reload_conf()");
      await client.end();
    };
    return { port, turnOn };
  };

  it("is asked for TLS before its certificate is read", async () => {
    const { key, cert } = await tenDays();
    const { port, turnOn } = await start();

    expect((await probe({ port, starttls: "postgres", ca: cert })).outcome).toEqual({
      kind: "error",
      reason: "the server offers no TLS",
    });
    await turnOn({ key, cert });
    const isOn = async () =>
      (await probe({ port, starttls: "postgres", ca: cert })).outcome.kind === "certificate";
    await waitFor(isOn, { withinMs: 10_000, what: "TLS of Postgres" });

    expect(await probe({ port, starttls: "postgres", ca: cert })).toMatchObject(trusted);
  });

  it.each<[string, string, string]>([
    [
      "has too many clients",
      "E\0\0\0\x3fSFATAL\0VFATAL\0C53300\0Msorry, too many clients already\0\0",
      'the server does not start TLS, but answers "sorry, too many clients already"',
    ],
    ["is another server", "H", 'the server does not start TLS, but answers "H"'],
    ["adds to its answer", "Sinjected", "the server sends more than its answer before TLS starts"],
  ])("that %s fails", async (_, answer, reason) => {
    expect(await faultOf("postgres", ["", answer])).toBe(reason);
  });
});
