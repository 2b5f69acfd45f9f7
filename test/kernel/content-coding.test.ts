import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { describe, expect, it } from "vitest";
import { readBeginning, readBody } from "#kernel/body.ts";
import { codingsOf, decodeBody } from "#kernel/content-coding.ts";

const text = JSON.stringify({ ok: true, words: "one two three ".repeat(20) });

async function* inPieces(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const open = (bytes: Uint8Array, header: string, { maxBytes = 10_000, size = 7 } = {}) =>
  decodeBody(inPieces(bytes, size), { codings: codingsOf(header), maxBytes });

const decode = async (...of: Parameters<typeof open>) =>
  String(await readBody(open(...of), 10_000));

describe("a body", () => {
  it.each<[string, Uint8Array]>([
    ["gzip", gzipSync(text)],
    ["x-gzip", gzipSync(text)],
    ["GZip", gzipSync(text)],
    ["deflate", deflateSync(text)],
    ["br", brotliCompressSync(text)],
    ["zstd", zstdCompressSync(text)],
    ["identity", Buffer.from(text)],
    ["", Buffer.from(text)],
    ["deflate, br", brotliCompressSync(deflateSync(text))],
    ["identity , gzip,", gzipSync(text)],
  ])("of coding %j is decoded, however it is cut", async (header, bytes) => {
    expect(await decode(bytes, header)).toBe(text);
    expect(await decode(bytes, header, { size: 1 })).toBe(text);
  });

  it("of deflate is decoded without the header of zlib too", async () => {
    expect(await decode(deflateRawSync(text), "deflate")).toBe(text);
  });

  it("of several members of gzip is all of them", async () => {
    const both = Buffer.concat([gzipSync("one "), gzipSync("two")]);

    expect(await decode(both, "gzip")).toBe("one two");
  });

  it.each(["gzip", "deflate", "br", "zstd", "gzip, br"])(
    "of %s without a byte is empty",
    async (header) => {
      expect(await decode(Buffer.alloc(0), header)).toBe("");
    },
  );

  it("of an unknown coding stays as it is", async () => {
    expect(await decode(Buffer.from("as sent"), "gzip, aws-chunked")).toBe("as sent");
  });

  it("of a long text has a beginning, whatever follows", async () => {
    const cut = gzipSync(text.repeat(100)).subarray(0, 200);

    expect(String(await readBeginning(open(cut, "gzip"), 20))).toBe(text.slice(0, 20));
  });
});

describe("a broken body", () => {
  it.each<[string, Uint8Array]>([
    ["gzip", gzipSync(text).subarray(0, -9)],
    ["deflate", deflateSync(text).subarray(0, 20)],
    ["br", brotliCompressSync(text).subarray(0, 20)],
    ["zstd", zstdCompressSync(text).subarray(0, 20)],
    ["gzip", Buffer.from(text)],
    ["br", Buffer.from(text)],
  ])("of %s is named", async (coding, bytes) => {
    await expect(decode(bytes, coding)).rejects.toThrow(
      `the answer's body is broken ${coding}, or ends too early`,
    );
  });

  it("keeps the error with which its connection broke", async () => {
    const broken = async function* () {
      yield gzipSync(text).subarray(0, 20);
      throw new Error("connection reset");
    };

    const decoded = decodeBody(broken(), { codings: ["gzip"], maxBytes: 10_000 });

    await expect(readBody(decoded, 10_000)).rejects.toThrow("connection reset");
  });

  it("of more codings than anybody uses is refused", async () => {
    const header = Array(6).fill("gzip").join();

    await expect(async () => decode(gzipSync(text), header)).rejects.toThrow(
      "more than 5 content codings",
    );
  });
});

describe("a body that becomes enormous", () => {
  it("is given up at its limit", async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));

    await expect(decode(bomb, "gzip", { size: 1_000 })).rejects.toThrow("max size");
  });

  it("is given up between two codings at that limit", async () => {
    const bomb = gzipSync(gzipSync(Buffer.alloc(30_000_000)));

    await expect(decode(bomb, "gzip, gzip", { size: 1_000 })).rejects.toThrow("max size");
  });
});
