import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { createAttempt } from "#alerts/attempt.ts";
import { buildOrder } from "../../support/alerts/alert-builders.ts";
import { neverAsked } from "../../support/never-asked.ts";
import { serveAnswer, writeWithoutEnd } from "../../support/servers/answering-server.ts";

const page = "<!doctype html><title>Sign in</title>";

async function deliverTo(answer: (outgoing: ServerResponse) => void) {
  const url = await serveAnswer(answer);
  const source = { url, kind: "http", readToken: () => "token" } as const;
  const parts = { sourceOf: () => source, linkTo: () => undefined, timeoutMs: 1_000 };
  const direct = { send: neverAsked, findChannel: neverAsked };
  return createAttempt({ ...parts, ...direct })(buildOrder());
}

const written = { bytes: 0 };
const aBit = 30_000;

describe("a success whose body is a page for people", () => {
  it.each<[string, (outgoing: ServerResponse) => void]>([
    ["is longer than is read", (outgoing) => outgoing.end(page.padEnd(aBit))],
    ["never ends", (outgoing) => writeWithoutEnd(outgoing, written)],
    ["hangs in the midst", () => {}],
    ["breaks off", (outgoing) => setImmediate(() => outgoing.destroy())],
  ])("is no delivery, also when it %s", async (_, goOn) => {
    const outcome = await deliverTo((outgoing) => {
      outgoing.writeHead(200, { "content-type": "text/html" }).write(page, () => goOn(outgoing));
    });

    expect(outcome).toEqual({ kind: "retry", cause: "status 200 with an error" });
    expect(written.bytes).toBeLessThan(100_000_000);
  });
});

it("a success whose body says nothing and does not end is a delivery", async () => {
  const outcome = await deliverTo((outgoing) => outgoing.writeHead(202).write("{"));

  expect(outcome).toEqual({ kind: "accepted" });
});

it("a refusal is read for its words however long it is", async () => {
  const error = { type: "rate_limit", rate_limit: { retry_after: "2999-01-01T00:00:00Z" } };

  const outcome = await deliverTo((outgoing) =>
    outgoing.writeHead(429).write(JSON.stringify(error), () => {}),
  );

  expect(outcome).toMatchObject({ kind: "retry", cause: "status 429 rate_limit" });
});
