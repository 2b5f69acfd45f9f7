/** Answers that are valid, and that only some servers send. */
import type { ServerResponse } from "node:http";
import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { describe, expect, it } from "vitest";
import type { CheckResult } from "#monitor/contract.ts";
import type { Assertion } from "#monitor/kinds/assertions.ts";
import { createProbe } from "#monitor/probe/probe.ts";
import { createRunCheck } from "#monitor/probe/run-check.ts";
import { anApiCheck } from "../../../support/monitor/check-builders.ts";
import {
  serveAnswer,
  serveRaw,
  unaskedInterims,
} from "../../../support/servers/answering-server.ts";

const json = JSON.stringify({ status: "ok", token: "first-token" });
const isOk: Assertion[] = [{ source: "json", path: "status", equals: "ok" }];
const ok = { grade: "ok", status: 200, reason: null };

const runnerFor = (baseUrl: string) =>
  createRunCheck({
    probe: createProbe(),
    target: { baseUrl, readSecret: () => undefined },
    location: "local",
    nowMs: Date.now,
  });

const slow = { degradedAboveMs: 20_000, failedAboveMs: 20_000 };

const run = (
  url: string,
  {
    assertions = isOk,
    headers = {},
  }: { assertions?: Assertion[]; headers?: Record<string, string> } = {},
): Promise<CheckResult> =>
  runnerFor(url)(
    anApiCheck({ ...slow, method: "GET", path: "/", headers, body: null, assertions }),
    0,
  );

const serveBody = (headers: Record<string, string>, body: Uint8Array | string) =>
  serveAnswer((outgoing: ServerResponse) => void outgoing.writeHead(200, headers).end(body));

describe("a check of HTTP", () => {
  it.each(unaskedInterims)("passes over %s before the answer", async (_, interim) => {
    const { url } = await serveRaw(
      `${interim}HTTP/1.1 200 OK\r\ncontent-length: ${json.length}\r\n\r\n${json}`,
    );

    expect(await run(url)).toMatchObject(ok);
  });

  it.each([
    ["gzip", gzipSync(json)],
    ["deflate", deflateSync(json)],
    ["deflate", deflateRawSync(json)],
    ["br", brotliCompressSync(json)],
    ["zstd", zstdCompressSync(json)],
    ["gzip, br", brotliCompressSync(gzipSync(json))],
    ["identity", Buffer.from(json)],
  ])("reads a body of coding %s", async (coding, body) => {
    expect(await run(await serveBody({ "content-encoding": coding }, body))).toMatchObject(ok);
  });

  it("fails at a compressed body that ends too early", async () => {
    const url = await serveBody({ "content-encoding": "gzip" }, gzipSync(json).subarray(0, -10));

    expect(await run(url)).toMatchObject({
      grade: "failed",
      reason: "the answer's body is broken gzip, or ends too early",
    });
  });

  it("fails at a compressed body that becomes too long", async () => {
    const url = await serveBody({ "content-encoding": "gzip" }, gzipSync(Buffer.alloc(9_000_000)));

    expect((await run(url)).reason).toBe("the answer is too long when it is decompressed");
  });

  it("names a coding that it does not know where the body is to have something", async () => {
    const url = await serveBody({ "content-encoding": "lzma" }, "?");

    expect((await run(url)).reason).toBe(
      'status is absent, expected "ok": the body has an unknown content coding, "lzma"',
    );
    expect(await run(url, { assertions: [] })).toMatchObject(ok);
  });

  it.each([
    ["UTF-8", Buffer.from(`\ufeff${json}`)],
    ["UTF-16, little end first", Buffer.from(`\ufeff${json}`, "utf16le")],
    ["UTF-16, big end first", Buffer.from(`\ufeff${json}`, "utf16le").swap16()],
  ])("passes over the byte order mark of %s", async (_, body) => {
    expect(await run(await serveBody({}, body))).toMatchObject(ok);
  });

  it.each([
    ["text/plain; charset=ISO-8859-1", "caf\u00e9"],
    ['application/json; charset="latin1"', "caf\u00e9"],
    ["application/json; charset=no-such", "caf\ufffd"],
    ["application/json", "caf\ufffd"],
  ])("reads a body of %s", async (type, equals) => {
    const body = Buffer.from('{"name":"caf\u00e9"}', "latin1");
    const assertions: Assertion[] = [{ source: "json", path: "name", equals }];

    expect(
      await run(await serveBody({ "content-type": type }, body), { assertions }),
    ).toMatchObject(ok);
  });

  it.each([
    [{}, "vedette"],
    [{ "User-Agent": "mine/1" }, "mine/1"],
  ])("with the headers %j says who asks", async (headers, userAgent) => {
    const seen: unknown[] = [];
    const url = await serveAnswer((outgoing) => {
      seen.push(outgoing.req.headers["user-agent"]);
      outgoing.end(json);
    });

    await run(url, { headers });

    expect(seen).toEqual([userAgent]);
  });

  it("names an answer whose length is not the one it says", async () => {
    const { url } = await serveRaw(
      "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
    );

    expect((await run(url)).reason).toBe("the answer's length is not the one that it says");
  });
});

it("a check with steps reads compressed bodies and passes over interim answers", async () => {
  const coded = deflateRawSync(json).toString("latin1");
  const { url } = await serveRaw(
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-encoding: deflate\r\ncontent-length: ${coded.length}\r\n\r\n${coded}`,
  );
  const step = {
    name: null,
    method: "GET",
    path: "/",
    headers: {},
    body: null,
    assertions: isOk,
  } as const;
  const steps = [
    { ...step, assertions: isOk, extract: { token: { source: "json", path: "token" } as const } },
    { ...step, assertions: isOk, path: "/{{token}}", extract: {} },
  ];
  const { kind: _kind, ...common } = anApiCheck(slow);

  const result = await runnerFor(url)({ ...common, kind: "steps", steps }, 0);

  expect(result).toMatchObject(ok);
});
