import { expect, it } from "vitest";
import { readBeginning, readBody, readEnd } from "#kernel/body.ts";
import { usedHeap } from "../support/used-heap.ts";

const chunksOf = (...texts: string[]) => texts.map((text) => Buffer.from(text));

it.each([
  ["in pieces", chunksOf("ab", "cd"), "abcd"],
  ["that has none", [], ""],
  ["with letters that pieces cut in two", [Buffer.from([0xc3]), Buffer.from([0xbc])], "ü"],
])("is read whole, one %s", async (_, chunks, text) => {
  expect((await readBody(chunks, 4))?.toString()).toBe(text);
});

it("takes no hundred bytes of memory for each that comes alone", async () => {
  const count = 300_000;
  let most = 0;
  async function* single() {
    const before = usedHeap();
    for (let at = 0; at < count; at += 1) yield Buffer.from([at % 256]);
    most = usedHeap() - before;
  }

  expect((await readBody(single(), count))?.length).toBe(count);
  expect(most).toBeLessThan(count * 20);
});

it("is read no further than its limit", async () => {
  let read = 0;
  let hasEnded = false;
  async function* endless() {
    try {
      for (;;) {
        read += 1;
        yield Buffer.from("ab");
      }
    } finally {
      hasEnded = true;
    }
  }

  expect(await readBody(endless(), 4)).toBeUndefined();
  expect([read, hasEnded]).toEqual([3, true]);
});

it("has as its beginning what came before its connection broke", async () => {
  async function* breaking() {
    yield Buffer.from("ab");
    throw new Error("reset");
  }

  expect((await readBeginning(breaking(), 4)).toString()).toBe("ab");
});

it("has a beginning of its own length, or of the limit", async () => {
  const chunks = chunksOf("abc", "def", "ghi");

  expect((await readBeginning(chunks, 4)).toString()).toBe("abcd");
  expect((await readBeginning(chunks, 99)).toString()).toBe("abcdefghi");
});

it.each([
  ["a short one", chunksOf("ab", "c"), "abc"],
  ["its own end", chunksOf("abc", "def", "ghi", "j"), "ghij"],
  ["the end of one large piece", chunksOf("abcdefghij"), "ghij"],
  ["the end of very many small pieces", chunksOf(...Array.from("x".repeat(25_000)), "yz"), "xxyz"],
])("has as its end %s", async (_, chunks, end) => {
  const read = await readEnd(chunks, { keepBytes: 4, maxBytes: 1_000_000 });

  expect({ ...read, end: read.end.toString() }).toEqual({ end, stop: "end" });
});

it("is not read for its end further than the limit, and never fails", async () => {
  async function* endless() {
    for (let n = 0; ; n++) {
      if (n === 100) throw new Error("read too far");
      yield Buffer.from("ab");
    }
  }
  async function* breaking() {
    yield Buffer.from("cd");
    throw new Error("reset");
  }

  const limits = { keepBytes: 4, maxBytes: 10 };

  expect(await readEnd(endless(), limits)).toEqual({ end: Buffer.from("abab"), stop: "limit" });
  expect(await readEnd(breaking(), limits)).toEqual({ end: Buffer.from("cd"), stop: "error" });
});
