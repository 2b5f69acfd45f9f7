import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { Definitions } from "#monitor/contract.ts";
import { exportPrometheus } from "#monitor/export/prometheus.ts";
import { arbitraryDefinitions } from "../../../support/monitor/arbitrary-definitions.ts";
import { standardDefinitions } from "../../../support/monitor/standard-definitions.ts";

const settings = { metricsAddress: "127.0.0.1:7072" };

const defined = standardDefinitions;

/** What other programs read in the file. */
function read(definitions: Definitions, path: string) {
  const file = exportPrometheus(definitions, settings).find((one) => one.path === path);
  return parse(file?.text ?? "");
}

describe("scrapes", () => {
  it("Vedette's own metrics are scraped at their address", () => {
    const [own] = read(defined, "prometheus.yml").scrape_configs;

    expect(own.static_configs).toEqual([{ targets: ["127.0.0.1:7072"] }]);
  });
});

describe("rules", () => {
  const isAbout = (id: string) => (rule: { expr: string }) =>
    (rule.expr.match(/check=~?"([^"]*)"/)?.[1] ?? "").split("|").includes(id);

  it("every check with a channel has one of its severity, and no other check has any", () => {
    fc.assert(
      fc.property(arbitraryDefinitions, (definitions) => {
        const { rules } = read(definitions, "rules/vedette.yml").groups[0];

        for (const { id, channel } of [...definitions.apiChecks, ...definitions.heartbeats]) {
          // biome-ignore lint/suspicious/noExplicitAny: as parsed from YAML
          const severities = rules.filter(isAbout(id)).map((rule: any) => rule.labels.severity);
          const wanted = { production: ["critical"], staging: ["warning"] };
          expect(severities).toEqual(channel === null ? [] : wanted[channel]);
        }
      }),
    );
  });
});
