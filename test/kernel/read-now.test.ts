import type { Context } from "@restatedev/restate-sdk";
import { describe, expect, it } from "vitest";
import { ProblemError } from "#kernel/problem.ts";
import { readNow } from "#kernel/read-now.ts";

/** Runs a step at once, as Restate does for the first time. */
const ctx = {
  run: (_name: string, step: () => Promise<unknown>) => step(),
  console: { warn: () => {} },
} as unknown as Context;

const reading = {
  name: "read",
  limitMs: 60_000,
  describe: ({ message }: Error) => `nothing can be read (${message})`,
};

describe("what is read for a caller", () => {
  it("is tried again when it fails once", async () => {
    const answers = [Promise.reject(new Error("reset")), Promise.resolve("rows")];

    expect(await readNow(ctx, reading, () => answers.shift() ?? Promise.resolve(""))).toBe("rows");
  });

  it("is refused with 503 and the cause when it fails again and again", async () => {
    const answer = readNow(ctx, reading, () => Promise.reject(new Error("refused")));

    await expect(answer).rejects.toMatchObject({
      status: 503,
      code: "unavailable",
      message: "nothing can be read (refused): try again in a moment",
    });
  });

  it("is refused with 422 when Restate could not take it", async () => {
    const answer = readNow(ctx, reading, async () => [
      "x".repeat(13_000_000),
      "é".repeat(6_000_000),
    ]);

    await expect(answer).rejects.toMatchObject({ status: 422, code: "too_much" });
  });

  it("is refused with 503 when it does not end", async () => {
    const answer = readNow(ctx, { ...reading, limitMs: 50 }, () => new Promise(() => {}));

    await expect(answer).rejects.toMatchObject({
      status: 503,
      message: "nothing can be read (no answer within 0.05 seconds): try again in a moment",
    });
  });

  it("answers a bug with 500, without its message", async () => {
    const answer = readNow(ctx, reading, () => Promise.reject(new TypeError("x is undefined")));

    await expect(answer).rejects.toMatchObject({ code: 500, message: "internal error" });
  });

  it("is refused at once with the refusal that the read throws", async () => {
    const refusal = new ProblemError({ status: 409, code: "fleet_list_refused", detail: "short" });
    let attempts = 0;

    const answer = readNow(ctx, reading, () => {
      attempts += 1;
      return Promise.reject(refusal);
    });

    await expect(answer).rejects.toBe(refusal);
    expect(attempts).toBe(1);
  });
});
