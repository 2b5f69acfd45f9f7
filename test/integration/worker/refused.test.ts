/** A Restate that cannot accept a call now, and one that never accepts it. */
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { registerWorker } from "#worker/register.ts";
import { createRestateAdmin } from "#worker/restate-admin.ts";
import { serveAnswer, writeWithoutEnd } from "../../support/servers/answering-server.ts";

/** Answers with the statuses one after the other, then always with the last one. */
function inTurn(...statuses: number[]) {
  const asked = { times: 0 };
  const answer = (outgoing: ServerResponse) => {
    outgoing.statusCode = statuses[Math.min(asked.times++, statuses.length - 1)] ?? 500;
    outgoing.end("{}");
  };
  return { asked, answer };
}

/** A status, and a body without an end. */
function endless(status: number) {
  const written = { bytes: 0 };
  const answer = (outgoing: ServerResponse) => {
    outgoing.statusCode = status;
    writeWithoutEnd(outgoing, written);
  };
  return { written, answer };
}

const manyBytes = 50_000_000;

const worker = { workerUrl: "http://127.0.0.1:1", revision: "1" };

describe("a worker that registers", () => {
  it.each([408, 429, 503])("retries after a %i", async (status) => {
    const { asked, answer } = inTurn(status, 201);

    await registerWorker({ ...worker, adminUrl: await serveAnswer(answer) });

    expect(asked.times).toBe(2);
  });

  it("does not retry when its request is refused, and reports the answer", async () => {
    const { asked, answer } = inTurn(400);
    const registered = registerWorker({ ...worker, adminUrl: await serveAnswer(answer) });

    await expect(registered).rejects.toThrow(
      "Restate refused the worker at http://127.0.0.1:1: 400",
    );
    expect(asked.times).toBe(1);
  });

  it("is registered by an answer with an endless body, which it does not read", async () => {
    const { written, answer } = endless(201);

    await registerWorker({ ...worker, adminUrl: await serveAnswer(answer) });

    expect(written.bytes).toBeLessThan(manyBytes);
  });

  it("does not retry after a refusal with an endless body", async () => {
    const { written, answer } = endless(400);
    const registered = registerWorker({ ...worker, adminUrl: await serveAnswer(answer) });

    await expect(registered).rejects.toThrow(/refused the worker at \S+: 400/);
    expect(written.bytes).toBeLessThan(manyBytes);
  });
});

describe("an invocation that is to be killed", () => {
  const kill = async (status: number) =>
    createRestateAdmin(await serveAnswer(inTurn(status).answer)).change("kill", ["inv_1"]);

  it.each([408, 429, 503])("does not count as killed after a %i", async (status) => {
    await expect(kill(status)).rejects.toThrow(`Restate refused kill of inv_1: ${status}`);
  });

  it.each([404, 409])("counts as ended when Restate answers %i", async (status) => {
    await expect(kill(status)).resolves.toBeUndefined();
  });

  it.each([404, 503])("does not read the endless body of an answer %i", async (status) => {
    const { written, answer } = endless(status);
    const admin = createRestateAdmin(await serveAnswer(answer));

    await admin.change("kill", ["inv_1"]).catch(() => {});

    expect(written.bytes).toBeLessThan(manyBytes);
  });
});
