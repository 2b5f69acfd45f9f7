/** The rules and the dashboard of deploy/, and docs/metrics.md, held against the metrics that there are; and the chart. */
import { globSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { secretSettings } from "#config.ts";
import { isRead } from "./support/program/rendered-settings.ts";

const source = globSync("src/**/*.ts")
  .map((file) => readFileSync(file, "utf8"))
  .join("\n");

/** Every metric of the source: a name before its help, or one that a constant has. */
function declaredMetrics(): Set<string> {
  const patterns = [
    /"(vedette_[a-z_]+)",\s*(?:help:|")/g,
    /const durationName = "(vedette_[a-z_]+)"/g,
  ];
  const found = patterns.flatMap((pattern) => [...source.matchAll(pattern)]);
  return new Set(found.map(([, name = ""]) => name));
}

const declared = declaredMetrics();

/** The labels of each metric, by what stands after its name; a histogram of our own has none there. */
function declaredLabels(): Map<string, Set<string>> {
  const found = new Map([...declared].map((name) => [name, new Set<string>()]));
  for (const [, name = "", below = ""] of source.matchAll(
    /name: "(vedette_[a-z_]+)",((?:(?!name: ")[\s\S]){0,600}?labelNames: \[[^\]]*\])/g,
  )) {
    const list = below.slice(below.lastIndexOf("labelNames:"));
    for (const [, label = ""] of list.matchAll(/"(\w+)"/g)) found.get(name)?.add(label);
  }
  found.get("vedette_api_request_duration_seconds")?.add("procedure");
  return found;
}

const labels = declaredLabels();
/** Of Prometheus, of every histogram, and of our rules. */
const everywhere = ["job", "instance", "le", "exported_job", "role"];
const everyLabel = new Set([...everywhere, ...[...labels.values()].flatMap((own) => [...own])]);

/** Labels by which an expression selects or groups, and that there are not. */
function unknownLabelsIn(expr: string): string[] {
  const selected = [...expr.matchAll(/\b(vedette_[a-z_]+)\{([^}]*)\}/g)].flatMap(
    ([, name = "", inside = ""]) => {
      const own = labels.get(name.replace(/_(bucket|sum|count)$/, "")) ?? new Set();
      const used = [...inside.matchAll(/(\w+)\s*(?:=|!)/g)].map(([, label = ""]) => label);
      return used.filter((label) => !own.has(label) && !everywhere.includes(label));
    },
  );
  const grouped = [...expr.matchAll(/\b(?:by|on|ignoring)\s*\(([^)]*)\)/g)].flatMap(
    ([, list = ""]) => list.split(",").map((label) => label.trim()),
  );
  return [...selected, ...grouped.filter((label) => label !== "" && !everyLabel.has(label))];
}

type Rules = { groups: { rules: { record?: string; expr: string }[] }[] };
const rules = (
  parse(readFileSync("deploy/prometheus/vedette.yml", "utf8")) as Rules
).groups.flatMap((group) => group.rules);
const recorded = new Set(rules.flatMap(({ record = "" }) => record));

type Panel = {
  type: string;
  title: string;
  description?: string;
  fieldConfig?: { defaults: { unit?: string } };
  targets?: { expr: string }[];
};
const dashboard = JSON.parse(readFileSync("deploy/grafana/vedette.json", "utf8")) as {
  uid: string;
  panels: Panel[];
};
const panels = dashboard.panels.filter(({ type }) => type !== "row");

/** The names in an expression that are none of a metric, or of a rule. */
function unknownIn(expr: string): string[] {
  const names = expr.match(/\bvedette[_:][a-z0-9_:]+/g) ?? [];
  return names.filter(
    (name) => !recorded.has(name) && !declared.has(name.replace(/_(bucket|sum|count)$/, "")),
  );
}

it("finds the metrics in the source", () => {
  expect(declared.size).toBeGreaterThan(40);
  expect(unknownIn('rate(vedette_api_request_duration_seconds_bucket{job="a"}[5m])')).toEqual([]);
  expect(unknownIn("max(vedette_of_nothing) + vedette:of:nothing")).toHaveLength(2);
  expect(unknownLabelsIn('vedette_fleet_members{deploystatus="ready"}')).toEqual(["deploystatus"]);
  expect(unknownLabelsIn("sum by (status, cause) (vedette_api_requests_total)")).toEqual(["cause"]);
});

describe.each(rules)("the rule $record $alert", ({ expr }) => {
  it("is of metrics that there are", () => {
    expect(expr).toMatch(/vedette/);
    expect([...unknownIn(expr), ...unknownLabelsIn(expr)]).toEqual([]);
  });
});

describe.each(panels)("the panel $title", ({ description, fieldConfig, targets = [] }) => {
  it("is of metrics that there are, says what it shows, and in which unit", () => {
    const unknown = targets.flatMap(({ expr }) => [...unknownIn(expr), ...unknownLabelsIn(expr)]);
    expect(unknown).toEqual([]);
    expect(targets.length).toBeGreaterThan(0);
    expect(description).toMatch(/\w.*\.$/);
    expect(fieldConfig?.defaults.unit).toBeDefined();
  });
});

it("the dashboard shows every rule that is recorded for it", () => {
  const shown = panels.flatMap(({ targets = [] }) => targets).map(({ expr }) => expr);

  const hidden = [...recorded].filter((name) => !shown.some((expr) => expr.includes(name)));

  expect(hidden).toEqual([]);
});

it("docs/metrics.md has every metric, and no other", () => {
  const page = readFileSync("docs/metrics.md", "utf8");
  const documented = new Set(
    [...page.matchAll(/^\| `(vedette_[a-z_]+)`/gm)].map(([, name]) => name),
  );

  expect([...documented].sort()).toEqual([...declared].sort());
});

describe("the Helm chart", () => {
  it("has the version of the program", () => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
    const about = parse(readFileSync("deploy/chart/Chart.yaml", "utf8"));

    expect(about).toMatchObject({ version, appVersion: version });
  });

  it("has the rules of deploy/prometheus", () => {
    const own = readFileSync("deploy/chart/files/rules.yaml", "utf8");

    expect(own).toBe(readFileSync("deploy/prometheus/vedette.yml", "utf8"));
  });

  it("knows every secret of the program, and by a variable that it reads", () => {
    const known = parse(readFileSync("deploy/chart/files/secrets.yaml", "utf8")) as {
      setting: string;
      variable: string;
    }[];

    const settings = known.map(({ setting }) => setting);
    const ofAlerts = ["alerts.production.token", "alerts.staging.token"];
    // Those of fleets are known by the beginning of their variable.
    const single = secretSettings.filter((path) => !path.startsWith("fleets."));
    expect(settings.toSorted()).toEqual([...single, ...ofAlerts].toSorted());
    expect(known.filter(({ variable }) => !isRead(`${variable}_FILE`))).toEqual([]);
  });
});

describe("the network policies of the plain manifests", () => {
  type Peer = { ipBlock?: { cidr: string; except?: string[] }; podSelector?: object };
  type Policy = {
    kind: string;
    metadata: { name: string };
    spec: {
      podSelector: { matchLabels: Record<string, string> };
      policyTypes: string[];
      ingress: { from?: Peer[]; ports?: { port: string }[] }[];
      egress: { to?: Peer[]; ports?: { port: number; protocol: string }[] }[];
    };
  };
  const policiesOf = (file: string) =>
    parseAllDocuments(readFileSync(`deploy/kubernetes/${file}`, "utf8"))
      .map((document) => document.toJS() as Policy)
      .filter(({ kind }) => kind === "NetworkPolicy");
  const roles = policiesOf("vedette.yaml");

  it("are there for each role and each server, in both directions", () => {
    const all = [...roles, ...policiesOf("trial.yaml")];

    expect(all.map(({ metadata }) => metadata.name).toSorted()).toEqual([
      "postgres",
      "redis",
      "restate",
      "vedette-api",
      "vedette-control",
      "vedette-worker",
    ]);
    expect(new Set(all.map(({ spec }) => spec.policyTypes.join()))).toEqual(
      new Set(["Ingress,Egress"]),
    );
  });

  it.each(roles.map((policy) => [policy.metadata.name, policy] as const))(
    "lead %s to name servers, and to no link-local or metadata address",
    (_name, { spec }) => {
      const { egress } = spec;
      const [names, others] = egress;
      const blocks = (others?.to ?? []).flatMap(({ ipBlock = [] }) => ipBlock);

      expect(egress).toHaveLength(2);
      expect(names?.ports?.map(({ port, protocol }) => `${protocol} ${port}`)).toEqual([
        "UDP 53",
        "TCP 53",
      ]);
      expect(blocks).toEqual([
        {
          cidr: "0.0.0.0/0",
          except: ["169.254.0.0/16", "100.100.100.200/32", "192.0.0.192/32", "168.63.129.16/32"],
        },
        { cidr: "::/0", except: ["fe80::/10", "64:ff9b::a9fe:0/112", ...ipv6Metadata] },
      ]);
    },
  );

  it("let Restate, Postgres and Redis be called by Vedette alone", () => {
    const callers = policiesOf("trial.yaml").map(({ spec }) => spec.ingress);

    const vedette = { podSelector: { matchLabels: { "app.kubernetes.io/name": "vedette" } } };
    expect(callers).toEqual(callers.map(() => [{ from: [vedette] }]));
  });

  it("let Postgres and Redis call nobody", () => {
    const called = policiesOf("trial.yaml")
      .filter(({ metadata }) => metadata.name !== "restate")
      .map(({ spec }) => spec.egress);

    expect(called).toEqual([[], []]);
  });
});

/** Of Amazon, Google, Scaleway, Oracle, Akamai and Alibaba. */
const ipv6Metadata = [
  "fd00:ec2::/32",
  "fd20:ce::254/128",
  "fd00:42::42/128",
  "fd00:c1::a9fe:a9fe/128",
  "fd00:a9fe:a9fe::/64",
  "fd00:100::100:200/128",
];
