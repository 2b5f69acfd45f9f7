import { describe, expect, it } from "vitest";
import type { DeployOrder, Driver } from "#fleet/drivers/driver.ts";
import { driverOfFleet } from "#fleet/drivers/index.ts";

const fleets = ["singleton", "staging"];

/** Lists these ids, and remembers whom it was asked about. */
function aDriver(...ids: string[]) {
  const asked: string[] = [];
  const note = ({ sentinelId }: Pick<DeployOrder, "sentinelId">) => void asked.push(sentinelId);
  const driver: Driver = {
    list: async () => ids.map((id) => ({ id, region: "eu", image: "r/i:v1", healthy: true })),
    apply: async (order) => {
      note(order);
      return {};
    },
    observe: async (order) => {
      note(order);
      return { status: "ready" };
    },
    readLog: async (source) => {
      note(source);
      return { text: "" };
    },
    start: async () => {},
    stop: async () => {},
  };
  return { driver, asked };
}

const idsOf = async (driver: Driver) => (await driver.list()).map(({ id }) => id);
const order = (sentinelId: string) => ({ sentinelId, image: "r/i:v2", deployId: "d" });

describe("a driver of a named fleet", () => {
  it("lists ids with the fleet's name, and is asked about its own", async () => {
    const { driver, asked } = aDriver("edge/gw:1");
    const named = driverOfFleet(driver, { fleet: "staging", fleets });

    const [id = ""] = await idsOf(named);
    await named.apply(order(id));
    await named.observe(order(id));
    await named.readLog?.({ sentinelId: id }, { lines: 1, signal: AbortSignal.timeout(1_000) });

    expect(id).toBe("staging:edge/gw:1");
    expect(asked).toEqual(["edge/gw:1", "edge/gw:1", "edge/gw:1"]);
  });
});

describe("the counters of a named fleet", () => {
  it("have its name before the ids", async () => {
    const { driver } = aDriver();
    const counters = new Map([["gw-1", { requests: 1, errors: 0 }]]);
    const named = driverOfFleet(
      { ...driver, readCounters: async () => counters },
      { fleet: "staging", fleets },
    );

    const read = await named.readCounters?.(AbortSignal.timeout(1_000));

    expect([...(read?.keys() ?? [])]).toEqual(["staging:gw-1"]);
  });
});

describe("the driver of the default fleet", () => {
  it("has the ids of its fleet, colons included", async () => {
    const { driver, asked } = aDriver("host:8080");
    const unnamed = driverOfFleet(driver, { fleet: "singleton", fleets });

    await unnamed.apply(order("host:8080"));

    expect(await idsOf(unnamed)).toEqual(["host:8080"]);
    expect(asked).toEqual(["host:8080"]);
  });

  it("refuses an id that another fleet's sentinel could have", async () => {
    const unnamed = driverOfFleet(aDriver("gw", "staging:gw").driver, {
      fleet: "singleton",
      fleets,
    });

    await expect(unnamed.list()).rejects.toThrow("lists staging:gw");
  });
});
