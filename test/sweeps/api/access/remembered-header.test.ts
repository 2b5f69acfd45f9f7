import { expect, it } from "vitest";
import { createAuthenticate } from "#api/access/authenticate.ts";
import { usedHeap } from "../../../support/used-heap.ts";

/** A part of a request's head, as a parser cuts it out: it keeps all of the head in memory. */
function cutOut(text: string): string {
  const head = Buffer.from(`${"x".repeat(4_000)}${text}`).toString("latin1");
  return head.slice(4_000);
}

const count = 5_000;
/** Of one text, with what remembers it; the heads alone have 4 kB each. */
const mostBytes = 1_500;

it("remembers the header of each connection without the head that it came in", () => {
  const authenticate = createAuthenticate({ get: () => undefined });
  const before = usedHeap();

  const connections = Array.from({ length: count }, (_, n) => {
    const connection = { n };
    const header = cutOut(`Bearer root_key_of_connection_${n}`);
    expect(() => authenticate(header, 0, "127.0.0.1", connection)).toThrow();
    return connection;
  });

  expect((usedHeap() - before) / connections.length).toBeLessThan(mostBytes);
});
