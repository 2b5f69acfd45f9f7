import { expect, it } from "vitest";
import { createNewcomers } from "#fleet/drivers/process-newcomers.ts";

it("the driver gives new sentinels ports of their own that no outgoing connection gets", async () => {
  const known = await createNewcomers({ size: 2, basePort: 0 }, []);

  const newcomers = await createNewcomers({ size: 60, basePort: 0 }, known);

  const ports = [...known, ...newcomers].map(({ publicPort }) => publicPort);
  expect(new Set(ports).size).toBe(60);
  // Linux gives 32,768 and more to outgoing connections, other systems higher ones.
  expect(Math.max(...ports)).toBeLessThan(32_768);
  expect(newcomers.map(({ id }) => id)).not.toContain("sentinel-01");
});

it("the driver counts ports from a given one", async () => {
  const newcomers = await createNewcomers({ size: 3, basePort: 7_100 }, []);

  expect(newcomers.map(({ publicPort }) => publicPort)).toEqual([7_100, 7_101, 7_102]);
});
