/** Labels with names that only newer Alertmanagers take, from the rows to both versions' programs. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { exportAlertmanager } from "#routing/alertmanager/export.ts";
import type { AlertRoute } from "#routing/contract.ts";
import { writeFiles } from "../../../support/monitor/exported.ts";
import { type CommandEnd, runVedette } from "../../../support/program/command.ts";
import { anyRoutes, aRoute, aSource } from "../../../support/routing/route-rows.ts";
import {
  aSending,
  isInstalled,
  output,
  startAlertmanagerOf,
} from "../../../support/servers/alertmanager.ts";
import { findNewerTools } from "../../../support/servers/newer-tools.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const { programs: newer, missing } = await findNewerTools();

const names = [
  "service.name",
  "k8s-app",
  "app.kubernetes.io/name",
  "1st",
  "two words",
  'quo"ted',
  "back\\slash",
  "it's",
  "a=b",
  "größe",
  "日本",
  "{x,y}",
  "two\nlines",
];

const source = aSource({ labels: { severity: ["critical"], "service.name": ["api"] } });

const taking = (name: string, label: string, value: string) =>
  aRoute({
    name,
    sources: [{ source: "metrics", conditions: [{ label, operation: "one_of", values: [value] }] }],
  });

const rows = {
  checks: [],
  heartbeats: [],
  sources: [source],
  routes: [
    { ...taking("Pages", "severity", "critical"), escalation: "On-Call" },
    taking("Service Alerts", "service.name", "api"),
    aRoute({ name: "Rest" }),
  ],
};

/** Runs `vedette` in a directory with the rows. */
function aProject() {
  const directory = tempDir();
  writeFileSync(path.join(directory, "vedette.config.json"), JSON.stringify(rows));
  const out = path.join(directory, "out");
  const settings = {
    VEDETTE_INCIDENT__URL: "http://127.0.0.1:9",
    VEDETTE_ALERTMANAGER__PRODUCTION__SOURCE_ID: "01ABC",
    VEDETTE_ALERTMANAGER__PRODUCTION__TOKEN_FILE: "/etc/alertmanager/token",
  };
  return {
    directory,
    run: (args: string[], over: Record<string, string> = {}): Promise<CommandEnd> =>
      runVedette(args, { ...settings, ...over }, directory),
    export: (...args: string[]) =>
      runVedette(["alerts", "export", "alertmanager", "--out", out, ...args], settings, directory),
    exported: () => readFileSync(path.join(out, "alertmanager.yml"), "utf8"),
    check: (programs?: string) => output("sh", [path.join(out, "check.sh")], programs),
  };
}

/** One of that version, set up by hand, which `vedette alerts alertmanager` is to keep in step. */
async function aManaged(program: string) {
  const project = aProject();
  const file = path.join(project.directory, "alertmanager.yml");
  writeFileSync(file, "route:\n  receiver: nobody\nreceivers:\n  - name: nobody\n");
  const manager = await startAlertmanagerOf(program, file);
  onTestFinished(manager.stop);
  const settings = {
    VEDETTE_ALERTMANAGER__PRODUCTION__CONFIG_FILE: file,
    VEDETTE_ALERTMANAGER__PRODUCTION__URL: manager.url,
  };
  const run = (verb: "plan" | "apply") =>
    project.run(["alerts", "alertmanager", verb, "--environment", "production"], settings);
  return { run, file };
}

describe("a label with a dot", () => {
  it("is accepted by config check and lint", async () => {
    const { run } = aProject();

    const checked = await run(["config", "check"]);
    const linted = await run(["alerts", "lint"]);

    expect([checked.code, linted.code]).toEqual([0, 0]);
  });

  it("is simulated, in quotes and without", async () => {
    const { run } = aProject();
    const simulate = (label: string) =>
      run(["alerts", "simulate", "--source", "metrics", "--label", label]);

    const bare = await simulate("service.name=api");
    const quoted = await simulate('"service.name"=api');

    for (const { code, stdout } of [bare, quoted]) {
      expect(code).toBe(0);
      expect(stdout).toMatch(/Service Alerts +yes +service\.name is api/);
    }
  });

  it("is in quotes in the exported configuration", async () => {
    const project = aProject();

    const { code, stderr } = await project.export();

    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(project.exported()).toContain(`'"service.name"="api"'`);
  });

  it("leaves its route alone out of an export for an old version, by name and version", async () => {
    const project = aProject();

    const { code, stderr } = await project.export("--alertmanager-version", "0.25");

    expect(code).toBe(0);
    expect(stderr).toContain(
      "Service Alerts: left out, as Alertmanager 0.25 takes no label service.name; 0.27 and newer do",
    );
    expect(project.exported()).toContain("receiver: production/pages");
    expect(project.exported()).toContain("receiver: production/rest");
    expect(project.exported()).not.toContain("service");
  });

  it("is refused as a version", async () => {
    const { code, stderr } = await aProject().export("--alertmanager-version", "new");

    expect(code).toBe(1);
    expect(stderr).toContain("expected a version: 0.28.1.");
  });
});

describe.skipIf(!isInstalled("prometheus-alertmanager", "amtool"))("an old Alertmanager", () => {
  it("takes the export for its version", async () => {
    const project = aProject();
    await project.export("--alertmanager-version", "0.25");

    expect(await project.check()).toContain("kinds of alerts reach the receivers");
  });

  it("says its version to apply, gets the other routes, and is in step", async () => {
    const { run, file } = await aManaged("prometheus-alertmanager");

    const applied = await run("apply");
    const planned = await run("plan");

    expect([applied.code, planned.code]).toEqual([0, 0]);
    const line =
      /Service Alerts: left out, as Alertmanager 0\.2\d\.\d takes no label service\.name/;
    expect(applied.stdout).toMatch(line);
    expect(planned.stdout).toMatch(line);
    expect(readFileSync(file, "utf8")).toContain("production/rest");
  });
});

describe.skipIf(newer === undefined)(`a newer Alertmanager ${missing ?? ""}`, () => {
  it("takes the export, and routes by the label", async () => {
    const project = aProject();
    await project.export();

    expect(await project.check(newer)).toContain("kinds of alerts reach the receivers");
  });

  it("says its version to apply, and gets every route", async () => {
    const { run, file } = await aManaged(`${newer}/prometheus-alertmanager`);

    const applied = await run("apply");
    const planned = await run("plan");

    expect([applied.code, planned.code]).toEqual([0, 0]);
    expect(readFileSync(file, "utf8")).toContain(`'"service.name"="api"'`);
  });

  it.each(names)("routes by the label %j", async (name) => {
    expect(await checked([taking("One", name, "a"), taking("Two", name, "b")])).toContain("reach");
  });

  it("takes values as they stand beside a name in quotes, whatever is in them", async () => {
    const values = ["\\u0041", "c\\d", 'say "hi"', "a|b", "{x}", "two\nlines", "\\x41", "é", "\\"];
    const routes = values.map((value, i) => taking(`Route ${i}`, "service.name", value));
    const several = aRoute({
      sources: [
        {
          source: "metrics",
          conditions: [{ label: "service.name", operation: "one_of", values: ["a.b", "c\\u0041"] }],
        },
      ],
    });

    expect(await checked([...routes, several])).toContain("reach the receivers");
  });

  it("routes every kind of alert as the simulation does, for any routes", async () => {
    const renamed = fc.tuple(anyRoutes, fc.constantFrom(...names));
    await fc.assert(
      fc.asyncProperty(renamed, async ([routes, name]) => {
        const text = JSON.stringify(routes);
        const named: AlertRoute[] = JSON.parse(text.replaceAll('"team"', JSON.stringify(name)));
        expect(await checked(named)).toContain("reach the receivers");
      }),
      { numRuns: 5 },
    );
  });
});

function checked(routes: readonly AlertRoute[]): Promise<string> {
  const directory = tempDir();
  writeFiles(directory, exportAlertmanager([aSending({ labels: {} })], routes));
  return output("sh", [path.join(directory, "check.sh")], newer);
}
