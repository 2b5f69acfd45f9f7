import { once } from "node:events";
import { createServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { readWitness, type WitnessAddress } from "#monitor/config.ts";
import type { RunOutcome } from "#monitor/probe/run-check.ts";
import { createWitness } from "#monitor/probe/witness.ts";
import { aCheckResult, anApiCheck } from "../../support/monitor/check-builders.ts";

/** A name that no server has (RFC 6761). */
const nowhere: WitnessAddress = { host: "witness.invalid", port: 443 };
const elsewhere = { check: anApiCheck({ path: "https://shop.example.com/" }), baseUrl: "" };
const here = { check: anApiCheck({ path: "/health" }), baseUrl: "http://127.0.0.1:7070" };
const unreached: RunOutcome = {
  ...aCheckResult({ grade: "failed", cause: "error", reason: "no connection within 1 s" }),
  isUnreached: true,
};
const refused = aCheckResult({ grade: "failed", cause: "error", reason: "connection refused" });

async function startServer() {
  const server = createServer((socket) => socket.destroy());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { host: "127.0.0.1", port: (server.address() as { port: number }).port };
}

function witnessOf(addresses: WitnessAddress[]) {
  const notes: boolean[] = [];
  let nowMs = 0;
  const witness = createWitness({
    addresses,
    onChange: (isLost) => notes.push(isLost),
    nowMs: () => nowMs,
  });
  return { witness, notes, pass: (ms: number) => (nowMs += ms) };
}

describe("a run that reaches nothing", () => {
  it("counts without witnesses", async () => {
    const { witness } = witnessOf([]);

    const result = await witness.judge(unreached, elsewhere);

    expect(result).toMatchObject({ grade: "failed" });
    expect(result).not.toHaveProperty("isUnreached");
  });

  it("counts while one witness answers", async () => {
    const { witness, notes } = witnessOf([nowhere, await startServer()]);

    expect(await witness.judge(unreached, elsewhere)).toMatchObject({ grade: "failed" });
    expect(notes).toEqual([]);
  });

  it("says nothing while none answers, which is told once, and once when it is over", async () => {
    const { witness, notes, pass } = witnessOf([nowhere]);

    const lost = [
      await witness.judge(unreached, elsewhere),
      await witness.judge(unreached, elsewhere),
    ];
    pass(60_000);
    lost.push(await witness.judge(unreached, elsewhere));
    await witness.judge(aCheckResult(), elsewhere);

    expect(lost).toEqual([null, null, null]);
    expect(notes).toEqual([true, false]);
  }, 20_000);

  it("counts when its target is on this machine", async () => {
    const { witness } = witnessOf([nowhere]);

    expect(await witness.judge(unreached, here)).toMatchObject({ grade: "failed" });
  });
});

it("a refused connection is an answer, and always counts", async () => {
  const { witness, notes } = witnessOf([nowhere]);

  expect(await witness.judge(refused, elsewhere)).toEqual(refused);
  expect(notes).toEqual([]);
});

it("a witness that refuses connections shows that the network works", async () => {
  const { port } = await startServer();
  const { witness } = witnessOf([{ host: "127.0.0.1", port: port === 1 ? 2 : 1 }]);

  expect(await witness.judge(unreached, elsewhere)).toMatchObject({ grade: "failed" });
});

it.each([
  ["https://example.com", { host: "example.com", port: 443 }],
  ["http://example.com:8080/", { host: "example.com", port: 8_080 }],
  ["tcp://[2001:db8::1]:53", { host: "2001:db8::1", port: 53 }],
  ["tcp://192.0.2.1", undefined],
  ["https://user@example.com", undefined],
  ["tcp://example.com:70000", undefined],
  ["example.com", undefined],
])("%s is read as an address", (given, address) => {
  expect(readWitness(given)).toEqual(address);
});
