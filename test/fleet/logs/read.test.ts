import { describe, expect, it } from "vitest";
import { type Driver, UnreachableError } from "#fleet/drivers/driver.ts";
import { createReadLog } from "#fleet/logs/read.ts";
import type { FoundLog } from "#fleet/logs/store.ts";

const v1 = "r.io/a:v1";
const v2 = "r.io/a:v2";
const at = "2026-11-01T03:00:00.000Z";
const loop = "crash_loop: exit code 3";

const sentinel: FoundLog = {
  id: "gw-1",
  fleet: "singleton",
  image: v2,
  runningImage: v1,
  deployId: "d1",
  failure: loop,
  kept: { deployId: "d1", image: v2, reason: loop, lines: "starting\nno database", at },
};

type Setup = {
  found?: FoundLog | undefined;
  readLog?: Driver["readLog"];
  lines?: number;
  similar?: string[];
};

function build({ found, similar = [], lines = 100, ...rest }: Setup) {
  const { readLog = async () => ({ text: "" }) } = rest;
  const driver = "readLog" in rest && rest.readLog === undefined ? {} : { readLog };
  const asked: unknown[] = [];
  const read = createReadLog({
    store: {
      find: async () => found,
      similar: async (_id, of) => {
        asked.push(of);
        return similar;
      },
    },
    fleets: new Map([["singleton", { name: "singleton", driver, lines }]]),
  });
  return { read, asked };
}

describe("the log of a failed deploy", () => {
  const ask = (setup: Setup) => build(setup).read({ sentinel: "gw-1", which: "failed" });

  it("is that of the newest failed deploy, with its image and reason", async () => {
    const answer = await ask({ found: sentinel });

    const lines = ["starting", "no database"];
    expect(answer).toEqual({ sentinel: "gw-1", image: v2, lines, at, reason: loop });
  });

  it("is kept after a rollback", async () => {
    const back = { ...sentinel, image: v1, failure: null };

    expect(await ask({ found: back })).toMatchObject({ image: v2, reason: loop });
  });

  it("is said to be of an earlier deploy when the last one left none", async () => {
    const answer = await ask({
      found: { ...sentinel, deployId: "d2", failure: "cancelled: killed" },
    });

    expect(answer).toMatchObject({
      reason: loop,
      note: expect.stringMatching(/earlier failed deploy/),
    });
  });

  it("names sentinels that failed in the same way when its own was not kept", async () => {
    const kept = { deployId: "d1", image: v2, reason: loop, lines: "", note: "not read", at };
    const { read, asked } = build({ found: { ...sentinel, kept }, similar: ["gw-7"] });

    const answer = await read({ sentinel: "gw-1", which: "failed" });

    expect(answer).toMatchObject({ lines: [], note: "not read", similar: ["gw-7"] });
    expect(asked).toEqual([{ image: v2, code: "crash_loop" }]);
  });

  it("is absent when nothing was started", async () => {
    const answer = await ask({
      found: { ...sentinel, kept: null, failure: "image_not_found: v2" },
    });

    expect(answer).toMatchObject({ lines: [], note: expect.stringMatching(/nothing was started/) });
  });

  it("is absent when no deploy has failed", async () => {
    const answer = await ask({ found: { ...sentinel, failure: null, kept: null } });

    expect(answer).toEqual({
      sentinel: "gw-1",
      image: v2,
      lines: [],
      note: expect.stringMatching(/no deploy/),
    });
  });

  it("is not told once the setting forbids it", async () => {
    expect(await ask({ found: sentinel, lines: 0 })).toMatchObject({
      lines: [],
      note: expect.stringMatching(/log_lines is 0/),
    });
  });

  it("of a sentinel that is not known is a 404", async () => {
    await expect(ask({ found: undefined })).rejects.toMatchObject({
      status: 404,
      code: "unknown_sentinel",
    });
  });
});

describe("the log of what runs", () => {
  const ask = (setup: Setup) =>
    build({ found: sentinel, ...setup }).read({ sentinel: "gw-1", which: "running" });

  it("is read from the fleet now, as many lines as are wanted", async () => {
    const calls: unknown[] = [];
    const answer = await ask({
      lines: 7,
      readLog: async (source, { lines }) => {
        calls.push({ ...source, lines });
        return { text: "a\nb" };
      },
    });

    expect(answer).toMatchObject({ image: v1, lines: ["a", "b"] });
    expect(calls).toEqual([{ sentinelId: "gw-1", lines: 7 }]);
  });

  it("is absent with the driver's reason", async () => {
    const answer = await ask({ readLog: async () => ({ absent: "there is no container" }) });

    expect(answer).toMatchObject({ lines: [], note: "there is no container" });
  });

  it("is absent while the fleet does not answer", async () => {
    const answer = await ask({
      readLog: async () => {
        throw new UnreachableError("unreachable: ECONNREFUSED");
      },
    });

    expect(answer).toMatchObject({ lines: [], note: "unreachable: ECONNREFUSED" });
  });

  it("is not asked for when the driver has none, or none is wanted", async () => {
    expect(await ask({ readLog: undefined })).toMatchObject({
      note: expect.stringMatching(/driver reads no logs/),
    });
    expect(await ask({ lines: 0 })).toMatchObject({
      note: expect.stringMatching(/log_lines is 0/),
    });
  });

  it("is asked of eight sentinels at once at most", async () => {
    let running = 0;
    let most = 0;
    const { read } = build({
      found: sentinel,
      readLog: async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
        return { text: "a" };
      },
    });

    await Promise.all(
      Array.from({ length: 30 }, () => read({ sentinel: "gw-1", which: "running" })),
    );

    expect(most).toBe(8);
  });
});
