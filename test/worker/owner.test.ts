import { expect, it } from "vitest";
import { type Deployment, findOtherInstallation } from "#worker/register.ts";

const deployment = (headers: Record<string, string> | undefined, service: string): Deployment => ({
  id: "dp_1",
  services: [{ name: service, revision: 1 }],
  ...(headers !== undefined && { additional_headers: headers }),
});

const ours = "vedette.v1.SentinelService";

it("the worker finds an address that another installation registered", () => {
  const found = findOtherInstallation([deployment({ "X-Vedette-Installation": "b" }, ours)], "a");

  expect(found).toEqual({ deployment: "dp_1", installation: "b" });
});

it.each([
  ["our own", deployment({ "x-vedette-installation": "a" }, ours)],
  ["one that no installation registered by name", deployment(undefined, ours)],
  ["that of another program", deployment({ "x-vedette-installation": "b" }, "shop.Orders")],
])("accepts an address that is %s", (_, known) => {
  expect(findOtherInstallation([known], "a")).toBeUndefined();
});

it("the message lacks terminal control codes from the other installation's name", () => {
  const found = findOtherInstallation(
    [deployment({ "x-vedette-installation": "b\u001b[2J" }, ours)],
    "a",
  );

  expect(found?.installation).toBe("b2J");
});
