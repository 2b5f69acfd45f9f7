/** The probe against servers that do all that servers do wrong. */
import { once } from "node:events";
import { createServer as createHttp, type RequestListener } from "node:http";
import { createServer as createHttps } from "node:https";
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ProbeRequest } from "#monitor/kinds/request.ts";
import { createProbe } from "#monitor/probe/probe.ts";
import { createSelfSigned } from "../../../support/http/self-signed.ts";

const dayMs = 86_400_000;
const limits = { timeoutMs: 2_000, maxBodyBytes: 1_000 };
const probe = createProbe();

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function serve(answer: RequestListener): Promise<string> {
  const server = createHttp(answer);
  onTestFinished(() => server.closeAllConnections());
  return `http://127.0.0.1:${await listen(server)}`;
}

async function serveTls(names: string[], endsAt: Date): Promise<{ port: number; cert: string }> {
  const { key, cert } = await createSelfSigned(names, endsAt);
  const server = createHttps({ key, cert }, (_, outgoing) => outgoing.end("{}"));
  onTestFinished(() => server.closeAllConnections());
  return { port: await listen(server), cert };
}

/** As fast as it is read. */
function writeWithoutEnd(socket: Socket, text: string): void {
  const write = () => {
    while (!socket.destroyed && socket.write(text));
  };
  socket.on("error", () => {}).on("drain", write);
  socket.once("data", write);
}

const get = (url: string): ProbeRequest => ({ method: "GET", url, headers: {}, body: null });

describe("a probe", () => {
  it("reports the answer, redirects being answers like others", async () => {
    const url = await serve((_, outgoing) => {
      outgoing.writeHead(302, { Location: "/elsewhere", "X-Many": ["a", "b"] }).end("moved");
    });

    const { outcome } = await probe(get(`${url}/v2/liveness`), limits);

    expect(outcome).toMatchObject({
      kind: "response",
      status: 302,
      body: "moved",
      headers: { location: "/elsewhere", "x-many": "a, b" },
    });
  });

  it("sends method, path, headers and body as they are", async () => {
    const seen: unknown[] = [];
    const url = await serve(async (incoming, outgoing) => {
      const { method, url: path, headers } = incoming;
      const body = await new Response(incoming as unknown as ReadableStream).text();
      seen.push({ method, path, authorization: headers.authorization, body });
      outgoing.end();
    });

    const headers = { authorization: "Bearer x", "content-type": "application/json" };
    await probe({ method: "POST", url: `${url}/a?b=c`, headers, body: '{"d":1}' }, limits);

    expect(seen).toEqual([
      { method: "POST", path: "/a?b=c", authorization: "Bearer x", body: '{"d":1}' },
    ]);
  });

  it("splits the time into its phases, which are no more than the whole", async () => {
    const { port, cert } = await serveTls(["localhost"], new Date(Date.now() + 10.5 * dayMs));

    const seen = await createProbe({ ca: cert })(get(`https://localhost:${port}/`), limits);

    const { dns, connect, tls, firstByte, transfer } = seen.phases;
    const parts = [dns, connect, tls, firstByte, transfer].map((ms) => ms ?? Number.NaN);
    const sum = parts.reduce((a, b) => a + b);
    expect(seen.outcome.kind).toBe("response");
    expect(parts.every((ms) => ms >= 0)).toBe(true);
    expect(sum).toBeLessThanOrEqual(seen.durationMs);
  });

  it("counts the wait for the first byte and the transfer apart", async () => {
    const url = await serve((_, outgoing) => {
      setTimeout(() => outgoing.writeHead(200).write("{"), 200);
      setTimeout(() => outgoing.end("}"), 350);
    });

    const { phases } = await probe(get(url), limits);

    expect(phases.dns).toBeNull();
    expect(phases.tls).toBeNull();
    expect(phases.firstByte).toBeGreaterThanOrEqual(190);
    expect(phases.transfer).toBeGreaterThanOrEqual(100);
  });

  it("makes a new connection each time", async () => {
    const ports = new Set<number | undefined>();
    const url = await serve((incoming, outgoing) => {
      ports.add(incoming.socket.remotePort);
      outgoing.end();
    });

    for (let n = 0; n < 3; n += 1) await probe(get(url), limits);

    expect(ports.size).toBe(3);
  });
});

describe("a probe over TLS", () => {
  it("reports the whole days until the certificate expires", async () => {
    const { port, cert } = await serveTls(["localhost"], new Date(Date.now() + 10.5 * dayMs));

    const seen = await createProbe({ ca: cert })(get(`https://localhost:${port}/`), limits);

    expect(seen.tlsDaysLeft).toBe(10);
  });

  it.each([
    [
      "that nobody trusts",
      ["localhost"],
      10.5,
      false,
      "it is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT)",
      10,
    ],
    [
      "of another name",
      ["other.example"],
      10.5,
      true,
      "it is of another host (ERR_TLS_CERT_ALTNAME_INVALID)",
      10,
    ],
    ["that is over", ["localhost"], -0.02, true, "it has expired (CERT_HAS_EXPIRED)", -1],
  ])(
    "refuses a certificate %s, and tells its days all the same",
    async (_, names, days, isTrusted, words, left) => {
      const { port, cert } = await serveTls(names, new Date(Date.now() + days * dayMs));
      const ours = createProbe(isTrusted ? { ca: cert } : {});

      const seen = await ours(get(`https://localhost:${port}/`), limits);

      const reason = `the certificate is not trusted: ${words}`;
      expect(seen.outcome).toEqual({ kind: "error", reason });
      expect(seen.tlsDaysLeft).toBe(left);
    },
  );
});

describe("a probe that meets a fault", () => {
  const faultOf = async (url: string, timeoutMs = 500) => {
    const { outcome } = await probe(get(url), { ...limits, timeoutMs });
    return outcome.kind === "error" ? outcome.reason : `answered ${JSON.stringify(outcome)}`;
  };

  it("says that nobody listens", async () => {
    const server = createTcp();
    const port = await listen(server);
    await new Promise((resolve) => server.close(resolve));

    expect(await faultOf(`http://127.0.0.1:${port}/`)).toBe("connection refused");
  });

  it("says that there is no such host", async () => {
    expect(await faultOf("http://no-such-host.invalid/", 10_000)).toMatch(
      /^no such host$|could not be looked up$/,
    );
  });

  it("says that the connection broke", async () => {
    const port = await listen(
      createTcp((socket) => void socket.once("data", () => socket.resetAndDestroy())),
    );

    expect(await faultOf(`http://127.0.0.1:${port}/`)).toBe("connection reset");
  });

  it("says that the connection was closed without an answer", async () => {
    const port = await listen(createTcp((socket) => void socket.once("data", () => socket.end())));

    expect(await faultOf(`http://127.0.0.1:${port}/`)).toBe(
      "connection closed before the answer was whole",
    );
  });

  it("says that half an answer came", async () => {
    const url = await serve((_, outgoing) => {
      outgoing.writeHead(200, { "content-length": "10" }).write("half");
      setTimeout(() => outgoing.destroy(), 50);
    });

    expect(await faultOf(url)).toBe("connection closed before the answer was whole");
  });

  it("has a timeout for an answer", async () => {
    const startedMs = performance.now();
    const url = await serve(() => {});

    expect(await faultOf(url)).toBe("no whole answer within 500 ms");
    expect(performance.now() - startedMs).toBeLessThan(1_500);
  });

  it("has a timeout for the end of an answer", async () => {
    const url = await serve((_, outgoing) => void outgoing.writeHead(200).write("{"));

    expect(await faultOf(url)).toBe("no whole answer within 500 ms");
  });

  it("has a timeout for a handshake", async () => {
    const port = await listen(createTcp(() => {}));

    expect(await faultOf(`https://127.0.0.1:${port}/`)).toBe("no connection within 500 ms");
  });

  it("says that what answers speaks no TLS", async () => {
    const url = await serve((_, outgoing) => outgoing.end());

    expect(await faultOf(url.replace("http:", "https:"))).toMatch(
      /^the TLS connection failed \(\w+\)$/,
    );
  });

  it("says that what answers speaks no HTTP", async () => {
    const port = await listen(
      createTcp((socket) => void socket.once("data", () => socket.end("hi\n"))),
    );

    expect(await faultOf(`http://127.0.0.1:${port}/`)).toBe("the answer is not HTTP");
  });

  it("has a timeout while early hints come without an end", async () => {
    const hints = "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n".repeat(100);
    const port = await listen(createTcp((socket) => writeWithoutEnd(socket, hints)));

    expect(await faultOf(`http://127.0.0.1:${port}/`)).toBe("no whole answer within 500 ms");
  });

  it("reads no headers without an end", async () => {
    const port = await listen(
      createTcp((socket) => {
        socket.write("HTTP/1.1 200 OK\r\n");
        writeWithoutEnd(socket, "x-more: x\r\n".repeat(100));
      }),
    );

    expect(await faultOf(`http://127.0.0.1:${port}/`, 10_000)).toBe(
      "the answer's headers are too long",
    );
  });

  it("reads no answer that is longer than any check needs", async () => {
    const url = await serve((_, outgoing) => outgoing.end("x".repeat(1_001)));

    expect(await faultOf(url)).toBe("the answer is longer than 1000 bytes");
  });

  it("never reports the address, which may contain a secret", async () => {
    expect(await faultOf("http://user:secret@[not-an-address/")).toBe("the address is not valid");
  });
});
