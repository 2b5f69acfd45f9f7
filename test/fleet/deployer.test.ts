import { describe, expect, it } from "vitest";
import { createDeployer, judge } from "#fleet/deployer.ts";
import { type Driver, UnreachableError } from "#fleet/drivers/driver.ts";
import type { DeployRecord, FleetStore } from "#fleet/store.ts";

const order = { sentinelId: "s1", image: "r.io/a:v2", deployId: "d1" };

function buildParts(driver: Partial<Driver>) {
  const records: DeployRecord[] = [];
  const store = {
    record: async (record: DeployRecord) => {
      records.push(record);
    },
  } as FleetStore;
  const whole = { apply: async () => ({}), observe: async () => ({ status: "ready" }), ...driver };
  return { records, deployer: createDeployer(whole as Driver, store) };
}

describe("createDeployer", () => {
  it("writes progressing before anything is applied, and the result after", async () => {
    const { deployer, records } = buildParts({});

    await deployer.begin(order);

    expect(records.map(({ status }) => status)).toEqual(["progressing", "ready"]);
  });

  it("fails at once with the driver's terminal reason", async () => {
    const { deployer } = buildParts({ apply: async () => ({ failure: "image_not_found: v2" }) });

    expect(await deployer.begin(order)).toMatchObject({
      status: "failed",
      reason: "image_not_found: v2",
    });
  });

  it("keeps an order pending while the driver cannot be reached", async () => {
    const apply = () => Promise.reject(new UnreachableError("unreachable: ECONNREFUSED"));
    const { deployer } = buildParts({ apply });

    expect(await deployer.begin(order)).toMatchObject({ status: "progressing", isPending: true });
  });

  it("gives a pending order again, and an order that was taken not", async () => {
    let applied = 0;
    const apply = async () => {
      applied++;
      return {};
    };
    const { deployer } = buildParts({ apply, observe: async () => ({ status: "progressing" }) });

    await deployer.observe(order, "poll", true);
    await deployer.observe(order, "poll", false);

    expect(applied).toBe(1);
  });

  it("throws what is no trouble of the driver, so that it is tried again", async () => {
    const { deployer } = buildParts({ observe: () => Promise.reject(new Error("bug")) });

    await expect(deployer.begin(order)).rejects.toThrow("bug");
  });
});

describe("judge", () => {
  it("takes a push as the fleet's word that the image runs", () => {
    expect(judge({ status: "progressing" }, "pushed").status).toBe("ready");
  });

  it("believes a failure more than a push", () => {
    const look = { status: "failed", reason: "crash_loop" } as const;

    expect(judge(look, "pushed")).toEqual(look);
  });

  it("goes on waiting after a poll", () => {
    expect(judge({ status: "progressing" }, "poll").status).toBe("progressing");
  });

  it.each([
    [{ status: "progressing" }, /^progress_deadline: /],
    [{ status: "progressing", reason: "unreachable: reset" }, /^timeout_unknown: unreachable/],
    [
      { status: "progressing", reason: "unreachable: reset", isPending: true },
      /^unreachable: reset/,
    ],
  ] as const)("past the deadline %j has failed with its reason", (look, reason) => {
    expect(judge(look, "deadline")).toMatchObject({
      status: "failed",
      reason: expect.stringMatching(reason),
    });
  });
});
