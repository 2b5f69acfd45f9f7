import { expect, it } from "vitest";
import { type Directory, resolveIds } from "#routing/incident/resolve.ts";
import { aRoute, aSource } from "../../support/routing/route-rows.ts";

const given = {
  sources: {},
  attributes: {},
  escalation_paths: {},
  channels: { "#alerts": "C1" },
  operations: { one_of: "one_of", none_of: "not_one_of", is_set: "is_set", is_not_set: "unset" },
};

const rows = {
  sources: [aSource()],
  routes: [
    aRoute({
      sources: [{ source: "metrics", conditions: [{ label: "severity", operation: "is_set" }] }],
      escalation: "On-Call",
    }),
  ],
};

const directory = (over: Partial<Directory> = {}): Directory => ({
  sources: [{ id: "01S", name: "Metrics" }],
  attributes: [{ id: "01A", name: "severity" }],
  escalationPaths: [{ id: "01P", name: "On-Call" }],
  ...over,
});

it("the lookup finds sources by their title, attributes and escalation paths by name", () => {
  const { ids, names, faults } = resolveIds(rows, given, directory());

  expect(faults).toEqual([]);
  expect(ids.sources.get("metrics")).toBe("01S");
  expect(names).toEqual({ "01S": "metrics", "01A": "severity", "01P": "On-Call", C1: "#alerts" });
});

it("the lookup of names takes a name in another case when none is written alike", () => {
  const both = [
    { id: "01B", name: "Severity" },
    { id: "01A", name: "severity" },
  ];

  const alone = resolveIds(rows, given, directory({ attributes: both.slice(0, 1) }));
  const alike = resolveIds(rows, given, directory({ attributes: both }));

  expect(alone.ids.attributes.get("severity")).toBe("01B");
  expect(alike.ids.attributes.get("severity")).toBe("01A");
});

it("the lookup of names takes a given id before one that it would find", () => {
  const own = { ...given, sources: { metrics: "01OTHER" } };

  const { ids } = resolveIds(rows, own, directory());

  expect(ids.sources.get("metrics")).toBe("01OTHER");
});

it("the lookup of names reports every name without an id at once, with what to do", () => {
  const nothing = { sources: [], attributes: [], escalationPaths: [] };

  const { faults } = resolveIds(rows, { ...given, channels: {} }, nothing);

  expect(faults).toEqual([
    'source metrics is not known: name one "Metrics" at the incident service, or give its id in incident.ids_file',
    'attribute severity is not known: name one "severity" at the incident service, or give its id in incident.ids_file',
    'escalation path On-Call is not known: name one "On-Call" at the incident service, or give its id in incident.ids_file',
    "channel #alerts is not known: give its id in incident.ids_file",
  ]);
});

it("the lookup of names never guesses between two of one name", () => {
  const sources = ["01S", "01T"].map((id) => ({ id, name: "Metrics" }));

  const { faults } = resolveIds(rows, given, directory({ sources }));

  expect(faults[0]).toContain("source metrics is ambiguous (01S, 01T)");
});

it("the lookup of names refuses two labels that the service would take for one attribute", () => {
  const labels = ["team", "TEAM"].map((label) => ({
    source: "metrics",
    conditions: [{ label, operation: "is_set" as const }],
  }));
  const two = { routes: [aRoute({ sources: labels })], sources: [aSource()] };
  const attributes = [{ id: "01A", name: "Team" }];

  const { faults } = resolveIds(two, given, directory({ attributes }));
  const own = { ...given, attributes: { team: "01A", TEAM: "01A" } };

  expect(faults).toEqual([
    "attributes team and TEAM are one at the service (01A): give their ids in incident.ids_file",
  ]);
  expect(resolveIds(two, own, directory({ attributes })).faults).toEqual([]);
});

it("the lookup of names looks a label up that has the name of a member of every object", () => {
  const conditions = [{ label: "constructor", operation: "is_set" as const }];
  const table = {
    routes: [aRoute({ sources: [{ source: "metrics", conditions }] })],
    sources: [aSource()],
  };
  const attributes = [{ id: "01C", name: "constructor" }];

  const { ids } = resolveIds(table, given, directory({ attributes }));

  expect(ids.attributes.get("constructor")).toBe("01C");
});
