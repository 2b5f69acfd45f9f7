import { afterEach, describe, expect, it, vi } from "vitest";
import { createDeployer, grade, type NextPoll } from "#fleet/deploys/deployer.ts";
import {
  type Driver,
  type SentinelObservation,
  UnreachableError,
  UnwantedError,
} from "#fleet/drivers/driver.ts";
import type { FailedDeploy, SaveLog } from "#fleet/logs/store.ts";
import type { DeployRecord, FleetStore, RecordResult } from "#fleet/store.ts";

const order = { sentinelId: "s1", image: "r.io/a:v2", deployId: "d1", run: "run-1" };

const timeoutMs = 10_000;

const nextPoll: NextPoll = { isPending: false, pollMs: 200, isDue: false, isPushed: false };

type Parts = {
  driver?: Partial<Driver>;
  recorded?: RecordResult[];
  refuse?: (record: DeployRecord) => Error | undefined;
  keepLog?: SaveLog;
  /** Whether a push was noted before there was an invocation. */
  wasPushed?: boolean;
};

function buildParts(given: Parts = {}) {
  const {
    driver = {},
    recorded = [],
    refuse = () => undefined,
    keepLog,
    wasPushed = false,
  } = given;
  const records: DeployRecord[] = [];
  const putBacks: string[] = [];
  const store: Partial<FleetStore> = {
    record: async (record) => {
      const fault = refuse(record);
      if (fault !== undefined) throw fault;
      records.push(record);
      return recorded.shift() ?? { isStopped: false, orderedMsAgo: null };
    },
    isStoppedHere: () => false,
    unsent: new Set(),
    putBack: async ({ id }) => void putBacks.push(id),
    wasPushed: async () => wasPushed,
    abandon: async () => {},
  };
  const whole = { apply: async () => ({}), observe: async () => ({ status: "ready" }), ...driver };
  const deployer = createDeployer(whole as Driver, store as FleetStore, keepLog);
  return { records, putBacks, deployer };
}

it("a deploy is not polled when the fleet's answer to the order has its state", async () => {
  const { deployer, records } = buildParts({
    driver: {
      apply: async () => ({ seen: { status: "ready", running_image: order.image } }),
      observe: async () => expect.unreachable("it was asked"),
    },
  });

  expect(await deployer.start(order, timeoutMs)).toMatchObject({ status: "ready" });
  expect(records.map(({ status }) => status)).toEqual(["progressing", "ready"]);
});

describe("a push that was noted", () => {
  const look = (observe: Driver["observe"], mayBePushed: boolean) =>
    buildParts({ driver: { observe }, wasPushed: true }).deployer.observe(
      order,
      { ...nextPoll, mayBePushed },
      timeoutMs,
    );

  it("ends a deploy that was begun before it had an invocation", async () => {
    expect(await look(async () => ({ status: "progressing" }), true)).toMatchObject({
      status: "ready",
    });
  });

  it("is kept for the next look when the fleet does not answer this one", async () => {
    const step = await look(async () => {
      throw new UnreachableError("unreachable: 503");
    }, true);

    expect(step).toMatchObject({ status: "progressing", isPushed: true });
  });

  it("is not asked for by a deploy that was its own from the beginning", async () => {
    const step = await look(async () => ({ status: "progressing" }), false);

    expect(step).toMatchObject({ status: "progressing" });
    expect(step).not.toHaveProperty("isPushed");
  });
});

describe("a deploy that fails", () => {
  const end = (observe: Driver["observe"], apply: Driver["apply"] = async () => ({})) =>
    buildParts({ driver: { observe, apply } }).deployer.observe(
      order,
      { ...nextPoll, isPending: true, isDue: true },
      timeoutMs,
    );

  it("is the sentinel's failure when the fleet says so, whatever its words", async () => {
    const step = await end(async () => ({ status: "failed", reason: "unreachable: upstream" }));

    expect(step).toMatchObject({ status: "failed", reason: "unreachable: upstream" });
    expect(step).not.toHaveProperty("isOfApi");
  });

  it("has its log kept before it is recorded", async () => {
    const kept: FailedDeploy[] = [];
    const { deployer, records } = buildParts({
      driver: { observe: async () => ({ status: "failed", reason: "crash_loop" }) },
      keepLog: async (failed) => {
        expect(records).toEqual([]);
        kept.push(failed);
      },
    });

    await deployer.observe(order, nextPoll, timeoutMs);

    expect(kept).toEqual([{ ...order, reason: "crash_loop" }]);
    expect(records).toMatchObject([{ status: "failed" }]);
  });

  it.each<SentinelObservation>([
    { status: "failed", reason: "unauthorized: 401", isOfApi: true },
    { status: "progressing" },
    { status: "ready" },
  ])("has no log kept when it is %j", async (observed) => {
    const kept: FailedDeploy[] = [];
    const { deployer } = buildParts({
      driver: { observe: async () => observed },
      keepLog: async (failed) => void kept.push(failed),
    });

    await deployer.observe(order, nextPoll, timeoutMs);

    expect(kept).toEqual([]);
  });

  it("is the API's when it did not answer until the end", async () => {
    const step = await end(async () => {
      throw new UnreachableError("unreachable: ECONNREFUSED");
    });

    expect(step).toMatchObject({ status: "failed", isOfApi: true });
  });

  it.each(["apply", "observe"])(
    "is the API's when it lets us do nothing at all: %s",
    async (at) => {
      const refused = { status: "failed", reason: "unauthorized: 401", isOfApi: true } as const;

      const step = await (at === "observe"
        ? end(async () => refused)
        : end(
            async () => ({ status: "ready" }),
            async () => ({ failure: refused.reason, isOfApi: true }),
          ));

      expect(step).toMatchObject(refused);
    },
  );
});

describe("a fleet that reports no deploy id", () => {
  const stale: SentinelObservation = {
    status: "failed",
    reason: "crash_loop",
    mayBeOfEarlier: true,
  };
  const failedBefore = { isStopped: false, orderedMsAgo: null, failedBefore: true };

  const begin = (seen: SentinelObservation, recorded: RecordResult[]) =>
    buildParts({ driver: { observe: async () => seen }, recorded }).deployer.start(
      order,
      timeoutMs,
    );

  const poll = (seen: SentinelObservation, next: Partial<NextPoll>) =>
    buildParts({ driver: { observe: async () => seen } }).deployer.observe(
      order,
      { ...nextPoll, ...next },
      timeoutMs,
    );

  it("does not fail a deploy by the failure of the one before it", async () => {
    const first = await begin(stale, [failedBefore]);

    expect(first).toMatchObject({ status: "progressing", isPending: false });
    expect(await poll(stale, { doubtedSinceMs: first.doubtedSinceMs })).toMatchObject({
      status: "progressing",
      doubtedSinceMs: first.doubtedSinceMs,
    });
  });

  it("is believed at once when the deploy before had not failed, or when it names this one", async () => {
    const { mayBeOfEarlier: _, ...ours } = stale;

    expect(await begin(stale, [{ ...failedBefore, failedBefore: false }])).toMatchObject({
      status: "failed",
    });
    expect(await begin(ours, [failedBefore])).toMatchObject({ status: "failed" });
  });

  it("is not ready by a name that it had before, right after the order", async () => {
    const ready: SentinelObservation = { status: "ready", mayBeOfEarlier: true };

    const first = await begin(ready, []);
    const later = await poll(ready, { doubtedSinceMs: Date.now() - 5_000 });

    expect([first.status, later.status]).toEqual(["progressing", "ready"]);
  });

  it("is believed once it has said something else", async () => {
    const between = await poll({ status: "progressing" }, { doubtedSinceMs: Date.now() });

    expect(between.doubtedSinceMs).toBeUndefined();
    expect(await poll(stale, { doubtedSinceMs: between.doubtedSinceMs })).toMatchObject({
      status: "failed",
      reason: "crash_loop",
    });
  });

  it("is believed when it says so for some seconds, and at the deadline", async () => {
    const longAgo = { doubtedSinceMs: Date.now() - 5_000 };
    const due = { doubtedSinceMs: Date.now(), isDue: true };

    for (const next of [longAgo, due]) {
      expect(await poll(stale, next)).toMatchObject({ status: "failed", reason: "crash_loop" });
    }
  });
});

describe("createDeployer", () => {
  it("writes progressing before anything is applied, and the result after", async () => {
    const { deployer, records } = buildParts();

    await deployer.start(order, timeoutMs);

    expect(records.map(({ status }) => status)).toEqual(["progressing", "ready"]);
  });

  it("fails at once with the driver's terminal reason", async () => {
    const apply = async () => ({ failure: "image_not_found: v2" });
    const { deployer } = buildParts({ driver: { apply } });

    expect(await deployer.start(order, timeoutMs)).toMatchObject({
      status: "failed",
      reason: "image_not_found: v2",
    });
  });

  it("keeps an order pending while the driver cannot be reached", async () => {
    const apply = () => Promise.reject(new UnreachableError("unreachable: ECONNREFUSED"));
    const { deployer } = buildParts({ driver: { apply } });

    expect(await deployer.start(order, timeoutMs)).toMatchObject({
      status: "progressing",
      isPending: true,
    });
  });

  it("gives a pending order again, and an order that was taken not", async () => {
    let applied = 0;
    const apply = async () => {
      applied++;
      return {};
    };
    const observe: Driver["observe"] = async () => ({ status: "progressing" });
    const { deployer } = buildParts({ driver: { apply, observe } });

    await deployer.observe(order, { ...nextPoll, isPending: true }, timeoutMs);
    await deployer.observe(order, nextPoll, timeoutMs);

    expect(applied).toBe(1);
  });

  it("throws what is no trouble of the driver, so that it is tried again", async () => {
    const { deployer } = buildParts({
      driver: { observe: () => Promise.reject(new Error("bug")) },
    });

    await expect(deployer.start(order, timeoutMs)).rejects.toThrow("bug");
  });

  it("fails a deploy whose result the database can never store", async () => {
    const refuse = ({ status }: DeployRecord) =>
      status === "progressing" ? undefined : Object.assign(new Error("no text"), { code: "22021" });
    const { deployer } = buildParts({ refuse });

    expect(await deployer.start(order, timeoutMs)).toMatchObject({ status: "failed" });
  });
});

describe("an order whose run has stopped", () => {
  const stopped = (orderedMsAgo: number | null): RecordResult => ({
    isStopped: true,
    orderedMsAgo,
  });
  const atAnother: Driver["observe"] = async () => ({ status: "progressing", isOrdered: false });

  it("is never given", async () => {
    let applied = 0;
    const apply = async () => {
      applied++;
      return {};
    };
    const { deployer, putBacks } = buildParts({ driver: { apply }, recorded: [stopped(null)] });

    const step = await deployer.start(order, timeoutMs);

    expect(step).toMatchObject({ status: "unordered", reason: "cancelled: not ordered" });
    expect(applied).toBe(0);
    expect(putBacks).toEqual(["s1"]);
  });

  it("is observed when the fleet has it already", async () => {
    const observe: Driver["observe"] = async () => ({ status: "progressing", isOrdered: true });
    const { deployer, putBacks } = buildParts({
      driver: { observe },
      recorded: [stopped(60_000)],
    });

    const step = await deployer.start(order, timeoutMs);

    expect(step).toMatchObject({ status: "progressing", isPending: false });
    expect(putBacks).toEqual([]);
  });

  it("is polled again when it may still be on its way to the fleet", async () => {
    const { deployer, putBacks } = buildParts({
      driver: { observe: atAnother },
      recorded: [stopped(10)],
    });

    const step = await deployer.start(order, timeoutMs);

    expect(step).toMatchObject({ status: "progressing", isPending: true });
    expect(putBacks).toEqual([]);
  });

  it("ends as not ordered when the fleet never got it", async () => {
    const { deployer, putBacks } = buildParts({
      driver: { observe: atAnother },
      recorded: [stopped(60_000)],
    });

    expect(await deployer.start(order, timeoutMs)).toMatchObject({ status: "unordered" });
    expect(putBacks).toEqual(["s1"]);
  });

  it("is undecided while the fleet cannot be reached", async () => {
    const observe = () => Promise.reject(new UnreachableError("unreachable: reset"));
    const { deployer } = buildParts({ driver: { observe }, recorded: [stopped(60_000)] });

    expect(await deployer.start(order, timeoutMs)).toMatchObject({
      status: "progressing",
      isPending: true,
    });
  });

  it("that the driver held back at the last moment requests a new permission", async () => {
    const apply = () => Promise.reject(new UnwantedError());
    const { deployer } = buildParts({
      driver: { apply },
      recorded: [{ isStopped: false, orderedMsAgo: null }, stopped(5)],
    });

    expect(await deployer.start(order, timeoutMs)).toMatchObject({ status: "unordered" });
  });
});

describe("the permission to order", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  /** What each attempt is allowed when so long passes before its order could leave. */
  const permitted = async (delaysMs: number[]) => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const allowed: boolean[] = [];
    const apply: Driver["apply"] = async (_, { isWanted = () => true } = {}) => {
      vi.advanceTimersByTime(delaysMs.shift() ?? 0);
      allowed.push(isWanted());
      if (!isWanted()) throw new UnwantedError();
      return {};
    };
    await buildParts({ driver: { apply } }).deployer.start(order, timeoutMs);
    return allowed;
  };

  it("expires a tenth of a second after it was given: another worker may have stopped the run", async () => {
    expect(await permitted([99])).toEqual([true]);
    expect(await permitted([100])).toEqual([false, true]);
  });

  it("is longer each time that it was too short, two seconds at most", async () => {
    expect(await permitted([150, 150])).toEqual([false, true]);
    expect(await permitted([1_999, 1_999, 1_999, 1_999, 1_999, 1_999])).toEqual([
      ...[false, false, false, false, false, true],
    ]);
  });
});

describe("an order held back because its connection came late", () => {
  /** A fleet to which a connection takes three seconds, and that keeps one that a poll has opened. */
  const createSlow = () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    let isConnected = false;
    const calls: string[] = [];
    const connect = () => {
      if (!isConnected) vi.advanceTimersByTime(3_000);
    };
    const apply: Driver["apply"] = async (_, { isWanted = () => true } = {}) => {
      connect();
      calls.push(isWanted() ? "ordered" : "held back");
      if (!isWanted()) throw new UnwantedError();
      return {};
    };
    const observe: Driver["observe"] = async () => {
      connect();
      isConnected = true;
      calls.push("looked");
      return { status: "progressing" };
    };
    return { calls, driver: { apply, observe } };
  };
  afterEach(() => {
    vi.useRealTimers();
  });

  it("is sent on one that a poll has opened", async () => {
    const { calls, driver } = createSlow();
    const recorded = Array.from({ length: 5 }, () => ({ isStopped: false, orderedMsAgo: null }));

    const stoppedAtLast = { isStopped: true, orderedMsAgo: 60_000 };
    await buildParts({ driver, recorded: [...recorded, stoppedAtLast] }).deployer.start(
      order,
      timeoutMs,
    );

    expect(calls).toEqual(["held back", "looked", "ordered", "looked"]);
  });
});

describe("time in which the machine slept", () => {
  let jumpMs = 0;
  const clock = Date.now;
  afterEach(() => {
    vi.restoreAllMocks();
    jumpMs = 0;
  });
  const jumping = (byMs: number) => {
    vi.spyOn(Date, "now").mockImplementation(() => clock() + jumpMs);
    const observe: Driver["observe"] = async () => {
      jumpMs += byMs;
      return { status: "progressing" };
    };
    return buildParts({ driver: { observe } }).deployer;
  };

  it.each([
    ["slept", 3_600_000, 30_000],
    ["was set back", -3_600_000, 0],
  ])("is not watched when the clock %s in the first poll", async (_, byMs, watchedMs) => {
    const step = await jumping(byMs).start(order, 600_000);

    expect(step.watch?.watchedMs).toBe(watchedMs);
  });

  it("is not watched in a later poll either", async () => {
    const watch = { atMs: Date.now(), watchedMs: 0 };

    const step = await jumping(3_600_000).observe(order, { ...nextPoll, watch }, 600_000);

    expect(step.watch?.watchedMs).toBeLessThan(21_000);
    expect(step.status).toBe("progressing");
  });
});

describe("a deadline that came while no process could poll", () => {
  const observe: Driver["observe"] = async () => ({ status: "progressing" });

  it("judges only once the deploy was watched for its time", async () => {
    const { deployer } = buildParts({ driver: { observe } });
    const watch = { atMs: Date.now() - 3_600_000, watchedMs: 2_000 };
    const due = { ...nextPoll, isDue: true, pollMs: 2_000 };

    let step = await deployer.observe(order, { ...due, watch }, timeoutMs);
    const first = step;
    let looks = 1;
    while (step.status === "progressing" && looks < 20) {
      // As if two seconds had passed.
      const passed = { ...step.watch, atMs: (step.watch?.atMs ?? 0) - 2_000 };
      step = await deployer.observe(
        order,
        { ...due, watch: { watchedMs: 0, ...passed } },
        timeoutMs,
      );
      looks++;
    }

    expect(first.status).toBe("progressing");
    expect(step).toMatchObject({
      status: "failed",
      reason: expect.stringMatching(/^progress_deadline/),
    });
    expect(looks).toBeGreaterThan(2);
    expect(looks).toBeLessThan(6);
  });

  it("judges at once when polls came all the time", async () => {
    const { deployer } = buildParts({ driver: { observe } });
    const watch = { atMs: Date.now() - 2_000, watchedMs: 8_000 };

    const step = await deployer.observe(
      order,
      { ...nextPoll, isDue: true, pollMs: 2_000, watch },
      timeoutMs,
    );

    expect(step.status).toBe("failed");
  });
});

describe("judge", () => {
  const pushed = { isPushed: true, isDue: false };
  const due = { isPushed: false, isDue: true };

  it("takes a push as the fleet's word that the image runs", () => {
    expect(grade({ status: "progressing" }, pushed).status).toBe("ready");
  });

  it.each([
    ["has not taken the order", { isPending: true }],
    ["cannot be asked", { isUnanswered: true }],
    ["is at another deploy", { isOrdered: false }],
    ["says that another image serves", { deniesReady: true }],
  ])("does not believe a push while the fleet %s", (_, found) => {
    expect(grade({ status: "progressing", ...found }, pushed).status).toBe("progressing");
  });

  it("believes a failure more than a push", () => {
    const found = { status: "failed", reason: "crash_loop" } as const;

    expect(grade(found, pushed)).toEqual(found);
  });

  it("waits on after a poll", () => {
    const found = { status: "progressing" } as const;

    expect(grade(found, { isPushed: false, isDue: false })).toEqual(found);
  });

  it.each([
    [{ status: "progressing" }, /^progress_deadline: /],
    [
      { status: "progressing", reason: "unreachable: reset", isUnanswered: true },
      /^timeout_unknown: unreachable/,
    ],
    [
      { status: "progressing", reason: "unreachable: reset", isUnanswered: true, isPending: true },
      /^unreachable: reset/,
    ],
    [{ status: "progressing", reason: "pull_backoff: 3 of 4 pods" }, /^pull_backoff: 3 of 4 pods$/],
    [{ status: "progressing", reason: "1 of 4 ready" }, /^progress_deadline: 1 of 4 ready$/],
  ] as const)("past the deadline %j has failed with its reason", (found, reason) => {
    expect(grade(found, due)).toMatchObject({
      status: "failed",
      reason: expect.stringMatching(reason),
    });
  });
});
