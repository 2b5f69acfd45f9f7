import { pino } from "pino";
import { expect, it } from "vitest";
import type { Inbox } from "#monitor/heartbeat/inbox.ts";
import { createPingDoor, createTakePing } from "#monitor/heartbeat/pings.ts";
import { neverAsked } from "../../support/never-asked.ts";

const path = `/${"t".repeat(43)}`;

/** The door of pings, before a database that answers so. */
function startDoor(receive: Inbox["receive"]) {
  const takePing = createTakePing({
    inbox: { receive } as Partial<Inbox> as Inbox,
    send: neverAsked(),
    log: pino({ level: "silent" }),
    nowMs: Date.now,
  });
  return createPingDoor(takePing);
}

it.each(["GET", "HEAD", "POST"])(
  "the gateway answers a %s of a ping URL by itself",
  async (method) => {
    const { answer } = startDoor(async () => ({ id: "nightly", isWatched: false, atMs: 0 }));

    expect(await answer(method, path)).toEqual({ status: 200, body: "ok\n" });
  },
);

it("taking a ping never rejects: a database that is away is a ping to be sent again", async () => {
  const { answer } = startDoor(() => Promise.reject(new Error("no database")));

  expect(await answer("GET", path)).toEqual({ status: 503, body: "try again\n" });
});

it.each([
  ["PUT", path],
  ["GET", `${path}/later`],
  ["GET", `${path}x`],
  ["GET", "/"],
])("says at once of %s %s that it is none of a ping", (method, of) => {
  const { answer } = startDoor(neverAsked());

  expect(answer(method, of)).toBeNull();
});

/** The door of a watched heartbeat, and how often its object was called. */
function startWatched() {
  const seen = { calls: 0 };
  const known = async () => ({ id: "nightly", isWatched: true, atMs: 0, lastPingAtMs: null });
  const takePing = createTakePing({
    inbox: { receive: known, announce: known } as Partial<Inbox> as Inbox,
    send: async () => {
      seen.calls += 1;
    },
    log: pino({ level: "silent" }),
    nowMs: Date.now,
  });
  return { ...createPingDoor(takePing), seen };
}

it.each(["start", "fail", "3"])("a flood of /%s calls no object without end", async (suffix) => {
  const { answer, seen } = startWatched();

  const answers = await Promise.all(
    Array.from({ length: 500 }, () => answer("POST", `${path}/${suffix}`)),
  );

  expect(seen.calls).toBeLessThanOrEqual(60);
  expect(answers[0]).toEqual({ status: 200, body: "ok\n" });
  expect(answers.at(-1)).toEqual({ status: 429, body: "too many pings\n" });
});

it("of a flood of successes each is taken, and few call the object", async () => {
  const { answer, seen } = startWatched();

  const answers = await Promise.all(Array.from({ length: 500 }, () => answer("GET", path)));

  expect(answers.every((one) => one?.status === 200)).toBe(true);
  expect(seen.calls).toBeLessThanOrEqual(60);
});
