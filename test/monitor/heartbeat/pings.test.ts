import { pino } from "pino";
import { expect, it, vi } from "vitest";
import { type Inbox, TooManyPings } from "#monitor/heartbeat/inbox.ts";
import { createPingDoor, createTakePing } from "#monitor/heartbeat/pings.ts";
import { neverAsked } from "../../support/never-asked.ts";

const path = `/${"t".repeat(43)}`;

/** The door of pings, before a database that answers so. */
function startDoor(receive: Inbox["receive"]) {
  const takePing = createTakePing({
    inbox: { receive },
    log: pino({ level: "silent" }),
    nowMs: Date.now,
  });
  return createPingDoor(takePing);
}

it.each(["GET", "HEAD", "POST"])(
  "the gateway answers a %s of a ping URL by itself",
  async (method) => {
    const { answer } = startDoor(async () => ({ id: "nightly" }));

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

it("a ping of a flood that cannot be kept is refused", async () => {
  const { answer } = startDoor(() => Promise.reject(new TooManyPings()));

  expect(await answer("POST", `${path}/fail`)).toEqual({ status: 429, body: "too many pings\n" });
});

it.each([
  ["", { kind: "success" }],
  ["/0", { kind: "success" }],
  ["/start", { kind: "start" }],
  ["/fail", { kind: "fail", exitCode: null }],
  ["/3", { kind: "fail", exitCode: 3 }],
])("understands a ping URL that ends with '%s'", async (suffix, ping) => {
  const receive = vi.fn(async () => ({ id: "nightly" }));

  await startDoor(receive).answer("POST", `${path}${suffix}`);

  expect(receive).toHaveBeenCalledWith({
    token: expect.stringMatching(/^[0-9a-f]{64}$/),
    ping: { ...ping, atMs: expect.any(Number) },
  });
});
