/** Where the choice of another fleet leads. */
import { expect, it } from "vitest";
import { pathInOtherFleet } from "#console/web/fleet-path.ts";

it.each([
  ["/", "/"],
  ["/start", "/start"],
  ["/pins", "/pins"],
  ["/checks/liveness", "/checks/liveness"],
  ["/fleet", "/fleet"],
  ["/fleet/gw-0001", "/fleet"],
  ["/history", "/history"],
  ["/history/one", "/history"],
  ["/history/one/two", "/history"],
])("from %s it leads to %s", (path, to) => {
  expect(pathInOtherFleet(path)).toBe(to);
});
