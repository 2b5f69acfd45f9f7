import { expect, it } from "vitest";
import { readBeginning, readBody } from "#kernel/body.ts";

const chunksOf = (...texts: string[]) => texts.map((text) => Buffer.from(text));

it.each([
  ["in pieces", chunksOf("ab", "cd"), "abcd"],
  ["that has none", [], ""],
  ["with letters that pieces cut in two", [Buffer.from([0xc3]), Buffer.from([0xbc])], "ü"],
])("is read whole, one %s", async (_, chunks, text) => {
  expect((await readBody(chunks, 4))?.toString()).toBe(text);
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
