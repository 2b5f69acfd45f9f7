import { setTimeout } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type Driver, UnreachableError } from "#fleet/drivers/driver.ts";
import { createLogBudget } from "#fleet/logs/budget.ts";
import { createSaveLog, hasStarted } from "#fleet/logs/store.ts";
import { createLog } from "#kernel/log.ts";

const failed = {
  sentinelId: "gw-1",
  image: "r.io/a:v2",
  deployId: "d1",
  run: "run-1",
  reason: "crash_loop: exit code 3",
};

type Setup = {
  readLog?: Driver["readLog"];
  keep?: (sentinelId: string, kept: object) => Promise<void>;
  lines?: number;
  most?: number;
};

function build({ lines = 100, most = 5, ...over }: Setup = {}) {
  const kept: object[] = [];
  const asked: object[] = [];
  const { readLog = async () => ({ text: "no database" }) } = over;
  const { keep = async (id: string, log: object) => void kept.push({ id, ...log }) } = over;
  const keepLog = createSaveLog({
    driver: {
      readLog: (source, call) => {
        asked.push({ ...source, lines: call.lines });
        return readLog(source, call);
      },
    },
    store: { keep },
    budget: createLogBudget(most),
    lines,
    log: createLog({ level: "silent", format: "json" }),
  });
  return { keepLog, kept, asked };
}

afterEach(() => void vi.useRealTimers());

describe("keepLog", () => {
  it("keeps what this deploy's container has printed", async () => {
    const { keepLog, kept, asked } = build({ lines: 20 });

    await keepLog(failed);

    expect(asked).toEqual([{ sentinelId: "gw-1", deployId: "d1", lines: 20 }]);
    expect(kept).toMatchObject([
      { id: "gw-1", deployId: "d1", reason: failed.reason, lines: "no database" },
    ]);
  });

  it("notes why there is none", async () => {
    const { keepLog, kept } = build({
      readLog: async () => {
        throw new UnreachableError("unreachable: ECONNREFUSED");
      },
    });

    await keepLog(failed);

    expect(kept).toMatchObject([{ lines: "", note: "unreachable: ECONNREFUSED" }]);
  });

  it("keeps what a log lacks beside its lines", async () => {
    const { keepLog, kept } = build({ readLog: async () => ({ text: "a", note: "no end" }) });

    await keepLog(failed);

    expect(kept).toMatchObject([{ lines: "a", note: "no end" }]);
  });

  it("reads the logs of few that fail in the same way, and notes it for the others", async () => {
    const { keepLog, kept, asked } = build({ most: 2 });

    for (const id of ["1", "2", "3"]) {
      await keepLog({
        ...failed,
        sentinelId: `gw-${id}`,
        deployId: `d${id}`,
        reason: `crash_loop: ${id}`,
      });
    }
    await keepLog({ ...failed, deployId: "d4", reason: "oom_killed" });

    expect(asked).toHaveLength(3);
    expect(kept[2]).toMatchObject({
      id: "gw-3",
      lines: "",
      note: expect.stringMatching(/^not kept: 5 others/),
    });
    expect(kept[3]).toMatchObject({ lines: "no database" });
  });

  it("does not count one without a log", async () => {
    const texts = ["", "found"];
    const { keepLog, kept } = build({
      most: 1,
      readLog: async () => ({ text: texts.shift() ?? "" }),
    });

    await keepLog(failed);
    await keepLog({ ...failed, deployId: "d2" });

    expect(kept).toMatchObject([{ lines: "" }, { lines: "found" }]);
  });

  it("lets others read while the first ones have none, of many that fail at once", async () => {
    const { keepLog, kept } = build({
      readLog: async ({ deployId = "" }) => {
        await setTimeout(20);
        return { text: Number(deployId) < 5 ? "" : "found" };
      },
    });

    await Promise.all(
      Array.from({ length: 20 }, (_, n) => keepLog({ ...failed, deployId: String(n) })),
    );

    expect(kept.filter((log) => "lines" in log && log.lines === "found")).toHaveLength(5);
    expect(kept.filter((log) => "note" in log && /^not kept: 5/.test(`${log.note}`))).toHaveLength(
      10,
    );
  });

  it.each([
    ["cannot be read", { readLog: async () => Promise.reject(new TypeError("bug")) }],
    ["cannot be stored", { keep: async () => Promise.reject(new Error("disk full")) }],
  ])("leaves the place of a log that %s to another one", async (_name, over) => {
    const { keepLog, asked } = build({ most: 1, ...over });

    await keepLog(failed);
    await keepLog({ ...failed, deployId: "d2" });

    expect(asked).toHaveLength(2);
  });

  it("leaves the place of a log that never comes to another one", async () => {
    vi.useFakeTimers();
    const { keepLog, asked } = build({ most: 1, readLog: () => new Promise(() => {}) });
    const first = keepLog(failed);
    await vi.advanceTimersByTimeAsync(2_000);
    await first;

    void keepLog({ ...failed, deployId: "d2" });
    await vi.advanceTimersByTimeAsync(2_000);

    expect(asked).toHaveLength(2);
  });

  it("notes that others were being read when it could not wait for them any longer", async () => {
    const { keepLog, kept } = build({
      most: 1,
      readLog: async () => {
        await setTimeout(1_700);
        return { text: "" };
      },
    });

    await Promise.all([keepLog(failed), keepLog({ ...failed, deployId: "d2" })]);

    expect(kept).toMatchObject([
      { deployId: "d2", lines: "", note: expect.stringMatching(/were being read$/) },
      { deployId: "d1", lines: "" },
    ]);
  });

  it("asks for none of what was never started", async () => {
    const { keepLog, kept, asked } = build();

    await keepLog({ ...failed, reason: "image_not_found: v2" });

    expect([kept, asked]).toEqual([[], []]);
  });

  it("reads and keeps nothing without lines", async () => {
    const { keepLog, kept, asked } = build({ lines: 0 });

    await keepLog(failed);

    expect([kept, asked]).toEqual([[], []]);
  });

  it("ends after two seconds when the database does not", async () => {
    vi.useFakeTimers();
    const { keepLog } = build({ keep: () => new Promise(() => {}) });

    const ended = keepLog(failed);
    await vi.advanceTimersByTimeAsync(2_000);

    await expect(ended).resolves.toBeUndefined();
  });

  it("ends after two seconds when the driver does not, whatever its signal says", async () => {
    vi.useFakeTimers();
    const { keepLog } = build({ readLog: () => new Promise(() => {}) });

    const ended = keepLog(failed);
    await vi.advanceTimersByTimeAsync(2_000);

    await expect(ended).resolves.toBeUndefined();
  });

  it.each([
    ["the driver", { readLog: async () => Promise.reject(new TypeError("bug")) }],
    ["the database", { keep: async () => Promise.reject(new Error("disk full")) }],
  ])("survives errors of %s", async (_name, over) => {
    await expect(build(over).keepLog(failed)).resolves.toBeUndefined();
  });
});

describe("hasStarted", () => {
  it.each(["crash_loop: exit code 1", "probe_failing", "it just fails", "progress_deadline: slow"])(
    "is so after %s",
    (reason) => {
      expect(hasStarted(reason)).toBe(true);
    },
  );

  it.each(["image_auth: 401", "target_gone", "unschedulable: no node", "config_invalid: which?"])(
    "is not so after %s",
    (reason) => {
      expect(hasStarted(reason)).toBe(false);
    },
  );
});
