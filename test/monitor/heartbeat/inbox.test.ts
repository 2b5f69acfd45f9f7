import { expect, it, onTestFinished, vi } from "vitest";
import type { Database } from "#kernel/database.ts";
import { createInbox } from "#monitor/heartbeat/inbox.ts";
import { neverAsked } from "../../support/never-asked.ts";

/** Knows every token, and notes of how many it was asked at once. */
function startInbox() {
  const asked: number[] = [];
  const query = async ({ values: [tokens] }: { values: [string[], number[]] }) => {
    asked.push(tokens.length);
    return { rows: tokens.map((id, n) => ({ n, id, atMs: 0, fate: "waits" })) };
  };
  const inbox = createInbox({
    database: { query } as unknown as Database,
    recordPings: neverAsked(),
    decide: async () => {},
  });
  const ping = (count: number, kind: "success" | "start" = "success") =>
    Array.from({ length: count }, (_, i) =>
      inbox.receive({ token: `token-${i}`, ping: { kind, atMs: 0 } }),
    );
  return { asked, ping };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

it("the inbox writes a ping at once, those that follow after the pace, or as soon as they are 250", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { asked, ping } = startInbox();

  await Promise.all(ping(1));
  const few = ping(249);
  await turn();
  await turn();
  const waiting = [...asked];
  await Promise.all([...few, ...ping(1)]);

  expect(waiting).toEqual([1]);
  expect(asked).toEqual([1, 250]);
});

it("a start or failure is written without regard to the pace, and with it what came before", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { asked, ping } = startInbox();

  await Promise.all(ping(1));
  const success = ping(1);
  await turn();
  await turn();
  await Promise.all([...success, ...ping(1, "start")]);

  expect(asked).toEqual([1, 2]);
});

it("starts beyond twenty pings of a token within a second are refused, and successes are taken", async () => {
  const { asked, ping } = startInbox();

  const starts = Array.from({ length: 25 }, () => ping(1, "start")).flat();
  const answers = await Promise.allSettled([...starts, ...ping(1)]);

  expect(answers.filter(({ status }) => status === "rejected")).toHaveLength(5);
  expect(answers.at(-1)?.status).toBe("fulfilled");
  expect(asked.reduce((sum, count) => sum + count, 0)).toBe(21);
});
