import { describe, expect, it } from "vitest";
import { createLogBudget } from "#fleet/logs/budget.ts";

describe("createLogBudget", () => {
  it("lets so many deploys of one way through, each of them until its log is kept", () => {
    const budget = createLogBudget(2);

    const first = ["d1", "d2", "d3"].map((id) => budget.take("loop", id));
    budget.settle("loop", "d1", "kept");
    const again = ["d1", "d2", "d3"].map((id) => budget.take("loop", id));

    expect([first, again]).toEqual([
      ["read", "read", "wait"],
      ["kept", "read", "wait"],
    ]);
  });

  it("is used up once so many are kept, and not while they are only read", () => {
    const budget = createLogBudget(1);
    budget.take("loop", "d1");
    const before = budget.take("loop", "d2");

    budget.settle("loop", "d1", "kept");

    expect([before, budget.take("loop", "d2")]).toEqual(["wait", "enough"]);
  });

  it("keeps what is kept when the log is gone at a repetition", () => {
    const budget = createLogBudget(1);
    budget.take("loop", "d1");
    budget.settle("loop", "d1", "kept");

    budget.settle("loop", "d1", "none");

    expect(budget.take("loop", "d1")).toBe("kept");
  });

  it("wakes those who wait once one is settled, or its way is forgotten", async () => {
    const budget = createLogBudget(1);
    budget.take("loop", "d1");
    const settled = budget.settled("loop");
    budget.settle("loop", "d1", "none");
    const forgotten = budget.settled("loop");
    for (let n = 0; n < 1_000; n++) budget.take(`way ${n}`, "d1");

    await expect(settled).resolves.toBeUndefined();
    await expect(forgotten).resolves.toBeUndefined();
  });

  it("counts each way by itself", () => {
    const budget = createLogBudget(1);
    budget.take("loop", "d1");

    expect(budget.take("oom", "d2")).toBe("read");
  });

  it("lets another one through in place of one that had no log", () => {
    const budget = createLogBudget(1);
    budget.take("loop", "d1");

    budget.settle("loop", "d1", "none");

    expect(budget.take("loop", "d2")).toBe("read");
    expect(budget.take("loop", "d1")).toBe("wait");
  });

  it("ends to ask for logs of a way of which there never is one", () => {
    const budget = createLogBudget(5);

    const asked = Array.from({ length: 100 }, (_, n) => {
      const turn = budget.take("loop", `d${n}`);
      if (turn === "read") budget.settle("loop", `d${n}`, "none");
      return turn;
    });

    expect(asked.filter((turn) => turn === "read")).toHaveLength(20);
    expect(asked.at(-1)).toBe("tried");
  });

  it("forgets the oldest of very many ways", () => {
    const budget = createLogBudget(1);
    for (let n = 0; n <= 1_000; n++) budget.take(`way ${n}`, "d1");

    expect(budget.take("way 0", "d2")).toBe("read");
    expect(budget.take("way 1000", "d2")).toBe("wait");
  });
});
