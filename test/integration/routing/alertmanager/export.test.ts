/** The exported configuration before Alertmanager's own amtool. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { exportAlertmanager } from "#routing/alertmanager/export.ts";
import type { Delivery } from "#routing/alertmanager/tree.ts";
import type { AlertRoute } from "#routing/contract.ts";
import { writeFiles } from "../../../support/monitor/exported.ts";
import { routes, sources } from "../../../support/monitor/standard-definitions.ts";
import { runVedette } from "../../../support/program/command.ts";
import { anyRoutes, aRoute } from "../../../support/routing/route-rows.ts";
import { aSending, isInstalled, output } from "../../../support/servers/alertmanager.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const ours = sources
  .filter(({ kind }) => kind === "alertmanager")
  .map((source) => aSending(source)) as [Delivery, Delivery];

function exported(deliveries: [Delivery, ...Delivery[]], of: readonly AlertRoute[]): string {
  const directory = tempDir();
  writeFiles(directory, exportAlertmanager(deliveries, of));
  return directory;
}

const check = (directory: string) => output("sh", [path.join(directory, "check.sh")]);

describe.skipIf(!isInstalled("amtool"))("the exported configuration", () => {
  it("sends every kind of alert to where our routes have it", async () => {
    const said = await check(exported(ours, routes));

    expect(said).toContain("SUCCESS");
    expect(said).toContain("15 kinds of alerts reach the receivers that the routes name");
  });

  it("does so for any routes", async () => {
    const staging = aSending({ name: "metrics-staging", environment: "staging" });
    const rows = fc.tuple(anyRoutes, anyRoutes).map(([first, second]) => [
      ...first,
      ...second.map((route, i) => ({
        ...route,
        name: `Staging ${i}`,
        escalation: i % 2 === 0 ? null : "On-Call",
        sources: route.sources.map((entry) => ({ ...entry, source: "metrics-staging" })),
      })),
    ]);

    await fc.assert(
      fc.asyncProperty(rows, async (table) => {
        expect(await check(exported([aSending(), staging], table))).toContain(
          "reach the receivers",
        );
      }),
      { numRuns: 8 },
    );
  });

  it("takes values as they stand, whatever is in them", async () => {
    const values = ['say "hi"', "a|b", "it's", "c\\d", "e,f", "$HOME", "*", "ü", "two\nlines"];
    const rows = values.map((value, i) =>
      aRoute({
        name: `Route ${i}`,
        sources: [
          {
            source: "metrics",
            conditions: [{ label: "severity", operation: "one_of", values: [value, "x.y"] }],
          },
        ],
      }),
    );

    expect(await check(exported([aSending()], rows))).toContain(
      "reach the receivers that the routes name",
    );
  });

  it("fails its check when a route was taken out by hand", async () => {
    const directory = exported(ours, routes);
    const file = path.join(directory, "alertmanager.yml");
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replace('severity="critical"', 'severity="page"'));

    await expect(check(directory)).rejects.toThrow("not sent to production/production-alerts");
  });
});

describe("vedette alerts export alertmanager", () => {
  const settings = {
    VEDETTE_INCIDENT__URL: "https://incidents.example.com",
    VEDETTE_ALERTMANAGER__PRODUCTION__SOURCE_ID: "01ABC",
    VEDETTE_ALERTMANAGER__PRODUCTION__TOKEN_FILE: "/var/lib/tokens/production",
    VEDETTE_ALERTMANAGER__PRODUCTION__MOUNTED_TOKEN_FILE: "/etc/alertmanager/token",
  };

  it("writes the environments that have a source, with the token's file as it is mounted", async () => {
    const out = path.join(tempDir(), "export");

    const { code } = await runVedette(["alerts", "export", "alertmanager", "--out", out], settings);

    const text = readFileSync(path.join(out, "alertmanager.yml"), "utf8");
    expect(code).toBe(0);
    expect(text).toContain("https://incidents.example.com/v2/alert_events/alertmanager/01ABC");
    expect(text).toContain("credentials_file: /etc/alertmanager/token");
    expect(text).not.toContain("staging");
  });

  it("says which settings are missing, all of them", async () => {
    const out = path.join(tempDir(), "export");

    const { code, stderr } = await runVedette(
      ["alerts", "export", "alertmanager", "--out", out, "--environment", "staging"],
      {},
    );

    expect(code).toBe(1);
    expect(stderr).toContain(
      "set incident.url and alertmanager.staging.source_id and alertmanager.staging.token_file first",
    );
  });
});
