import { expect, it } from "vitest";
import { leftOut, lintRoutes, mustPage, type Table } from "#routing/lint.ts";
import { routes, sources } from "../support/monitor/standard-definitions.ts";
import { aRoute, aSource } from "../support/routing/route-rows.ts";

function lint(over: Partial<Table>) {
  const table = { sources: [aSource()], routes: [aRoute()], mustPage: [], leftOut: [], ...over };
  return lintRoutes(table).findings;
}

const errors = (over: Partial<Table>) =>
  lint(over).map(({ level, about, message }) => `${level}: ${about}: ${message}`);

it("the lint finds nothing but the dropped severities in the rows of src/routing/routes.ts", () => {
  const { findings } = lintRoutes({ sources, routes, mustPage, leftOut });

  expect(findings).toEqual([
    {
      level: "warning",
      about: "alertmanager-production",
      message:
        "severity=info, (any other value) matches no route: the alert is dropped and nobody is notified",
      paste: [
        "  {",
        '    name: "Other Alerts of Alertmanager (production)",',
        "    sources: [",
        '      { source: "alertmanager-production", conditions: [{ label: "severity", operation: "is_set" }, { label: "severity", operation: "none_of", values: ["critical", "warning"] }] },',
        "    ],",
        "    escalation: null,",
        '    channel: "#alerts",',
        "  },",
      ].join("\n"),
    },
  ]);
});

it("the lint finds nothing once the suggested row is added", () => {
  const paste = lintRoutes({ sources, routes, mustPage, leftOut }).findings[0]?.paste ?? "";
  const row = new Function(`return [${paste}][0]`)();

  const { findings } = lintRoutes({ sources, routes: [...routes, row], mustPage, leftOut });

  expect(findings).toEqual([]);
});

it("the lint finds nothing in correct rows", () => {
  expect(lint({})).toEqual([]);
});

it("the lint finds a staging route that pages", () => {
  const found = errors({
    sources: [aSource({ environment: "staging" })],
    routes: [aRoute({ escalation: "On-Call" })],
  });

  expect(found).toEqual(["error: All: alerts of metrics would page On-Call; staging pages nobody"]);
});

it("the lint finds an alert that has to page, and does so only at some times", () => {
  const activeTimes = [{ from: "09:00", until: "17:00", timezone: "UTC" }];
  const found = errors({
    routes: [aRoute({ escalation: "On-Call", activeTimes })],
    mustPage: [{ source: "metrics", labels: { severity: "critical" } }],
  });

  expect(found).toEqual([
    "error: All: alerts of metrics with severity=critical have to page: All sends them only at its activeTimes",
  ]);
});

it("the lint finds a production route that has to page and has no escalation", () => {
  const found = errors({ mustPage: [{ source: "metrics", labels: { severity: "critical" } }] });

  expect(found).toEqual([
    "error: All: alerts of metrics with severity=critical have to page: All has no escalation",
  ]);
});

it.each(routes.filter(({ escalation }) => escalation !== null).map(({ name }) => name))(
  "finds that %s has lost its escalation",
  (name) => {
    const without = routes.map((row) => (row.name === name ? { ...row, escalation: null } : row));

    const found = errors({ sources, routes: without, mustPage, leftOut });

    expect(found[0]).toMatch(`error: ${name}: alerts of`);
  },
);

it("the lint finds a source that no route takes", () => {
  const found = errors({ sources: [aSource(), aSource({ name: "b", title: "B" })] });

  expect(found).toEqual(["error: b: no route takes its alerts: nobody is notified"]);
});

it("the lint finds names that are taken twice", () => {
  const found = errors({ sources: [aSource(), aSource()], routes: [aRoute(), aRoute()] });

  expect(found).toEqual(
    expect.arrayContaining([
      "error: metrics: the name of the source is taken twice",
      "error: Metrics: the title of the source is taken twice",
      "error: All: the name of the route is taken twice",
    ]),
  );
});

it("the lint finds a source, a label, an escalation and a channel that do not exist", () => {
  const conditions = [{ label: "severty", operation: "is_set" as const }];
  const sources = [
    { source: "metrics", conditions: [] },
    { source: "metrics", conditions },
    { source: "metricks", conditions: [] },
  ];
  const known = { escalations: ["On-Call"], channels: ["#alerts"] };
  const route = aRoute({ sources, escalation: "On-Cal", channel: "#alert" });

  expect(errors({ routes: [route], known })).toEqual([
    "error: All: there is no source metricks; sources are rows too",
    "error: All: the escalation path On-Cal has no id at the incident service",
    "error: All: the channel #alert has no id in incident.ids_file",
    "error: All: metrics has no label severty",
  ]);
});

it("the lint finds alerts that two routes take", () => {
  const found = errors({ routes: [aRoute(), aRoute({ name: "Also" })] });

  expect(found).toEqual(["warning: metrics: every alert goes to All and Also"]);
});

it("the lint accepts alerts that are left out on purpose", () => {
  const conditions = [{ label: "severity", operation: "one_of" as const, values: ["critical"] }];
  const narrow = [aRoute({ sources: [{ source: "metrics", conditions }] })];

  expect(errors({ routes: narrow })).toHaveLength(1);
  expect(
    errors({
      routes: narrow,
      leftOut: [{ source: "metrics", label: "severity", because: "the others are noise" }],
    }),
  ).toEqual([]);
});
