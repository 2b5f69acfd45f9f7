/** Answers that are not from Vedette. */
import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { OversizeError, readAnswer } from "#cli/answer.ts";

type Body = Parameters<typeof readAnswer>[0];

const bodyOf = (chunks: Iterable<Buffer> | AsyncIterable<Buffer>) =>
  Readable.from(chunks) as unknown as Body;

function* without(end: "end"): Generator<Buffer> {
  while (end === "end") yield Buffer.alloc(1_000);
}

async function* withPauses(): AsyncGenerator<Buffer> {
  for (;;) {
    yield Buffer.from(" ");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

it("the command line reads a whole answer", async () => {
  const body = bodyOf([Buffer.from('{"a":"'), Buffer.from('ü"}')]);

  const whole = await readAnswer(body, { withinMs: 60_000, bytes: 100 });
  expect(whole.toString()).toBe('{"a":"ü"}');
});

it("the command line refuses an answer that is larger than its limit", async () => {
  const reading = readAnswer(bodyOf(without("end")), { withinMs: 60_000, bytes: 10_000 });

  await expect(reading).rejects.toThrow(OversizeError);
});

it("times out on an answer that does not end, however steadily it arrives", async () => {
  const reading = readAnswer(bodyOf(withPauses()), { withinMs: 50, bytes: 1_000_000 });

  await expect(reading).rejects.toThrow("the answer does not end");
});
