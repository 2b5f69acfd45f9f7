import { describe, expect, it } from "vitest";
import { readRequest } from "#api/http/fast-lane/request.ts";

const body = '{"key":"a"}';

/** A usual request, with what a test changes. */
function bytesOf(given: { start?: string; lines?: string[]; length?: string; body?: string } = {}) {
  const { start = "POST /v2/keys.verifyKey HTTP/1.1", lines = [], body: sent = body } = given;
  const { length = `Content-Length: ${Buffer.byteLength(sent)}` } = given;
  const usual = ["Host: api.test", "Content-Type: application/json", "Authorization: Bearer k"];
  return Buffer.from([start, ...usual, ...lines, length, "", sent].join("\r\n"));
}

const read = (bytes: Buffer) => {
  const found = readRequest(bytes);
  return found && "body" in found ? found : expect.unreachable(`it was ${JSON.stringify(found)}`);
};

describe("a usual request", () => {
  it("is read with its headers by lower-case names, and its body", () => {
    const found = read(bytesOf({ lines: ["User-Agent: a b", "X-Tab:a\tb"] }));

    expect(found.head.path).toBe("/v2/keys.verifyKey");
    expect(found.head.headers).toEqual({
      host: "api.test",
      "content-type": "application/json",
      authorization: "Bearer k",
      "user-agent": "a b",
      "x-tab": "a\tb",
      "content-length": "11",
    });
    expect(found.body).toEqual({ key: "a" });
    expect(found.rest).toBeUndefined();
  });

  it("is read without what came after it", () => {
    expect(read(Buffer.concat([bytesOf(), Buffer.from("POST")])).rest?.toString()).toBe("POST");
  });

  it("is incomplete until its body is there", () => {
    const bytes = bytesOf();

    const incomplete = { isIncomplete: true, head: { path: "/v2/keys.verifyKey" } };
    expect(readRequest(bytes.subarray(0, -1))).toMatchObject(incomplete);
    expect(readRequest(bytes.subarray(0, -body.length))).toMatchObject(incomplete);
  });

  it("has the head of the one before, if it is the same", () => {
    const { head } = read(bytesOf());

    expect(readRequest(bytesOf(), head)).toMatchObject({ body: { key: "a" } });
    expect((readRequest(bytesOf(), head) as { head: object }).head).toBe(head);
    expect(
      (readRequest(bytesOf({ lines: ["X-Other: a"] }), head) as { head: object }).head,
    ).not.toBe(head);
  });

  it.each(["Connection: keep-alive", "Content-Type-Options: a", "Keep-Alive: 5"])(
    "may say %s",
    (line) => {
      expect(readRequest(bytesOf({ lines: [line] }))).toBeTypeOf("object");
    },
  );
});

describe("left to Node's server is", () => {
  it.each([
    "GET /v2/keys.verifyKey HTTP/1.1",
    "POST /v2/keys.verifyKey HTTP/1.0",
    "POST /v2/keys.verifyKey?a=b HTTP/1.1",
    "POST /v2/keys.verify%4Bey HTTP/1.1",
    "POST http://api.test/v2/keys.verifyKey HTTP/1.1",
    "POST  /v2/keys.verifyKey HTTP/1.1",
    "\r\nPOST /v2/keys.verifyKey HTTP/1.1",
  ])("a request that begins %j", (start) => {
    expect(readRequest(bytesOf({ start }))).toBeUndefined();
  });

  it.each([
    ...["Transfer-Encoding: chunked", "Connection: close", "Proxy-Connection: close", "Upgrade: x"],
    ...["Expect: 100-continue", "TE: trailers", "Trailer: a", "Host: other", "Authorization: b"],
    ...[
      "content-length: 11",
      "Content-Type: text/plain",
      "X-Space : a",
      "X Space: a",
      " folded: a",
    ],
    ...[
      "X-Two:  a",
      "X-End: a ",
      "X-Empty:",
      "X-Null: \0",
      "X-Cr: a\rb",
      "X-Lf: a\nb",
      "X-High: é",
    ],
    ...["__proto__: a", "constructor: a", "no colon", ": no name"],
  ])("one with %j", (line) => {
    expect(readRequest(bytesOf({ lines: [line] }))).toBeUndefined();
  });

  it.each(["", "Content-Length: +11", "Content-Length: 011", "Content-Length: 0xb", "X: y"])(
    "one whose length is %j",
    (length) => {
      expect(readRequest(bytesOf({ length }))).toBeUndefined();
    },
  );

  it("one without a host or a type", () => {
    const without = (name: string) =>
      Buffer.from(
        bytesOf()
          .toString()
          .replace(new RegExp(`${name}: [^\\r]*\\r\\n`), ""),
      );

    expect(readRequest(without("Host"))).toBeUndefined();
    expect(readRequest(without("Content-Type"))).toBeUndefined();
  });

  it("a body that is no JSON, or long", () => {
    expect(readRequest(bytesOf({ body: "{" }))).toBeUndefined();
    expect(readRequest(bytesOf({ body: "" }))).toBeUndefined();
    expect(readRequest(bytesOf({ body: "\ufeff{}" }))).toBeUndefined();
    expect(readRequest(bytesOf({ body: `"${"a".repeat(9_998)}"` }))).toBeUndefined();
  });

  it("a head that is not whole, is long or has many headers", () => {
    expect(readRequest(bytesOf().subarray(0, 60))).toBeUndefined();
    expect(readRequest(bytesOf({ lines: [`X-Long: ${"a".repeat(4_096)}`] }))).toBeUndefined();
    // With the four that each has.
    const many = Array.from({ length: 61 }, (_, n) => `X-${n}: a`);
    expect(readRequest(bytesOf({ lines: many.slice(1) }))).toBeTypeOf("object");
    expect(readRequest(bytesOf({ lines: many }))).toBeUndefined();
  });
});
