import { expect, it } from "vitest";
import { alertOf, queryOf } from "#console/web/routing/simulated.ts";

it("keeps an alert in the address, whatever its labels are called", () => {
  const alert = { source: "checks", labels: { source: "a=b&c", fleet: "eu", severity: "" } };

  const kept = new URLSearchParams(new URLSearchParams(queryOf(alert)).toString());

  expect(alertOf(kept)).toEqual(alert);
});

it("simulates a critical alert of production where the address names none", () => {
  const usual = { source: "alertmanager-production", labels: { severity: "critical" } };

  expect(alertOf(new URLSearchParams("fleet=staging"))).toEqual(usual);
});
