import { pino } from "pino";
import { expect, it } from "vitest";
import type { Inbox } from "#monitor/heartbeat/inbox.ts";
import { createPingDoor } from "#monitor/heartbeat/ping-gateway.ts";
import { createTakePing } from "#monitor/heartbeat/pings.ts";
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

it.each(["GET", "HEAD", "POST"])("answers a %s of a ping URL by itself", async (method) => {
  const { answer } = startDoor(async () => ({ id: "nightly", isWatched: false, atMs: 0 }));

  expect(await answer(method, path)).toEqual({ status: 200, body: "ok\n" });
});

it("never rejects: a database that is away is a ping to be sent again", async () => {
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
