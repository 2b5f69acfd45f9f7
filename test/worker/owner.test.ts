import { expect, it } from "vitest";
import { type Deployment, findStranger } from "#worker/owner.ts";

const deployment = (headers: Record<string, string> | undefined, service: string): Deployment => ({
  id: "dp_1",
  services: [{ name: service }],
  ...(headers !== undefined && { additional_headers: headers }),
});

const ours = "vedette.v1.SentinelService";

it("an address that another installation registered is a stranger's", () => {
  const found = findStranger([deployment({ "X-Vedette-Installation": "b" }, ours)], "a");

  expect(found).toEqual({ deployment: "dp_1", installation: "b" });
});

it.each([
  ["our own", deployment({ "x-vedette-installation": "a" }, ours)],
  ["that of an earlier version", deployment(undefined, ours)],
  ["that of another program", deployment({ "x-vedette-installation": "b" }, "shop.Orders")],
])("an address is no stranger's when it is %s", (_, known) => {
  expect(findStranger([known], "a")).toBeUndefined();
});

it("what a stranger calls itself cannot steer a terminal", () => {
  const found = findStranger([deployment({ "x-vedette-installation": "b\u001b[2J" }, ours)], "a");

  expect(found?.installation).toBe("b2J");
});
