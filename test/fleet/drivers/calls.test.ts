import { expect, it } from "vitest";
import { type LogPart, reachEnd } from "#fleet/drivers/calls.ts";

const part = (text: string, stop: LogPart["stop"]): LogPart => ({ tail: { text }, stop });
const note = "the end of the log was not reached: its lines are too long";

/** What is answered when the parts come one after the other, and how many lines are asked for. */
async function read(parts: (LogPart | Error)[], { lines = 100, endsAfter = 99 } = {}) {
  const asked: number[] = [];
  const ended = new AbortController();
  const tail = await reachEnd({ lines, signal: ended.signal }, async (call) => {
    asked.push(call.lines);
    if (asked.length === endsAfter) ended.abort();
    const next = parts.shift();
    if (next === undefined || next instanceof Error) throw next ?? new Error("asked too often");
    return next;
  });
  return { tail, asked };
}

it.each<LogPart["stop"]>(["end", "error"])(
  "is what came of one that stopped at its %s",
  async (stop) => {
    expect(await read([part("a\n", stop)])).toEqual({ tail: { text: "a\n" }, asked: [100] });
  },
);

it("a log is requested with fewer lines until their end is reached", async () => {
  const parts = [part("first", "limit"), part("later", "limit"), part("last", "end")];

  expect(await read(parts)).toEqual({ tail: { text: "last" }, asked: [100, 10, 1] });
});

it("a log is never requested with more lines than are wanted", async () => {
  const parts = [part("first", "limit"), part("last", "end")];

  expect(await read(parts, { lines: 10 })).toEqual({ tail: { text: "last" }, asked: [10, 1] });
});

it.each<[string, (LogPart | Error)[]]>([
  ["one line is too long", [part("a", "limit"), part("b", "limit"), part("c", "limit")]],
  ["the next call fails", [part("a", "limit"), new Error("ECONNRESET")]],
  ["the next call breaks off", [part("a", "limit"), part("b", "error")]],
  ["there is none any more", [part("a", "limit"), { tail: { absent: "gone" }, stop: "end" }]],
])("has a note when %s", async (_name, parts) => {
  expect((await read(parts)).tail).toEqual({ text: "a", note });
});

it("a log has a note when the time is over", async () => {
  expect(await read([part("a", "limit")], { endsAfter: 1 })).toEqual({
    tail: { text: "a", note },
    asked: [100],
  });
});

it("the read throws what the first call throws", async () => {
  await expect(read([new Error("refused")])).rejects.toThrow("refused");
});
