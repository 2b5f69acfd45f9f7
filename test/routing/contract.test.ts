import { expect, it } from "vitest";
import { AlertRoute, AlertSource } from "#routing/contract.ts";
import { aRoute, aSource } from "../support/routing/route-rows.ts";

it("a route's name has no blanks around it, as the incident service stores it", () => {
  expect(AlertRoute.parse(aRoute({ name: " Team A\n" })).name).toBe("Team A");
});

it.each(["", " "])("a route cannot be named %j", (name) => {
  expect(AlertRoute.safeParse(aRoute({ name })).error?.issues[0]?.message).toBe("is empty");
});

it.each(["service.name", "k8s-app", "two words", "größe", "1st"])(
  "a source and a condition may name the label %j",
  (label) => {
    const source = aSource({ labels: { [label]: [] } });
    const sources = [{ source: "metrics", conditions: [{ label, operation: "is_set" as const }] }];

    expect(AlertSource.safeParse(source).success).toBe(true);
    expect(AlertRoute.safeParse(aRoute({ sources })).success).toBe(true);
  },
);

it("neither a source nor a condition can name a label without a name", () => {
  const sources = [
    { source: "metrics", conditions: [{ label: "", operation: "is_set" as const }] },
  ];

  expect(AlertSource.safeParse(aSource({ labels: { "": [] } })).success).toBe(false);
  expect(AlertRoute.safeParse(aRoute({ sources })).success).toBe(false);
});
