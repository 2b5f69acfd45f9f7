import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { CheckOf, Definitions } from "#monitor/contract.ts";
import { exportPrometheus } from "#monitor/export/prometheus.ts";
import { grade } from "#monitor/rules/grade.ts";
import {
  arbitraryApiCheck,
  arbitraryDefinitions,
} from "../../support/monitor/arbitrary-definitions.ts";
import { anApiCheck, aResponse } from "../../support/monitor/check-builders.ts";
import { standardDefinitions } from "../../support/monitor/standard-definitions.ts";

const settings = {
  baseUrl: "https://api.example.com",
  secretPrefix: "ACME",
  metricsAddress: "127.0.0.1:7072",
};

const defined = standardDefinitions;

/** What other programs read in the file. */
function read(definitions: Definitions, path: string) {
  const file = exportPrometheus(definitions, settings).find((one) => one.path === path);
  return parse(file?.text ?? "");
}

const moduleOf = (check: CheckOf<"http">) =>
  read({ ...defined, apiChecks: [check] }, "blackbox.yml").modules[check.id];

describe("modules of blackbox-exporter", () => {
  it("send the request of the check, with the names of secrets in place of secrets", () => {
    const { modules } = read(defined, "blackbox.yml");

    expect(modules["verify-key"]).toEqual({
      prober: "http",
      timeout: "10000ms",
      http: {
        method: "POST",
        follow_redirects: false,
        enable_http2: false,
        preferred_ip_protocol: "ip4",
        ip_protocol_fallback: true,
        tls_config: { insecure_skip_verify: false },
        body_size_limit: "1048576B",
        // biome-ignore lint/suspicious/noTemplateCurlyInString: filled in by envsubst
        headers: { "content-type": "application/json", authorization: "Bearer ${ACME_ROOT_KEY}" },
        // biome-ignore lint/suspicious/noTemplateCurlyInString: filled in by envsubst
        body: '{"key":"${ACME_KEY}"}',
        valid_status_codes: [200],
        fail_if_body_not_matches_regexp: ['"valid"\\s*:\\s*true'],
      },
    });
  });

  it("takes any status for a check that asserts none, as the check does", () => {
    const assertions = [{ source: "header", name: "location", contains: "/login" } as const];

    const { http } = moduleOf({ ...anApiCheck(), assertions });

    expect(http.valid_status_codes).toEqual(expect.arrayContaining([204, 302, 404, 503]));
  });

  it("there is one for every check, with its method, time limit and body", () => {
    fc.assert(
      fc.property(arbitraryDefinitions, (definitions) => {
        const { modules } = read(definitions, "blackbox.yml");

        const ids = definitions.apiChecks.map(({ id }) => id);
        expect(Object.keys(modules).sort()).toEqual(ids.sort());
        for (const check of definitions.apiChecks) {
          const { timeout, http } = modules[check.id];
          expect(Number.parseInt(timeout, 10)).toBe(check.failedAboveMs);
          expect(http.method).toBe(check.method);
          const named = (text: string) => text.replaceAll(/\$\{ACME_(\w+)\}/g, "{{$1}}");
          expect(http.body === undefined ? null : JSON.parse(named(http.body))).toEqual(check.body);
          for (const [name, value] of Object.entries(check.headers)) {
            expect(named(http.headers[name])).toBe(value);
          }
        }
      }),
    );
  });

  it("a body passes the module when it passes the check, be the value wrong or right", () => {
    const spacing = fc.constantFrom(0, 2);
    fc.assert(
      fc.property(arbitraryApiCheck, fc.nat(), spacing, (check, pick, indent) => {
        const values = check.assertions.filter((assertion) => assertion.source === "json");
        const wrong = values[pick % (values.length * 2 || 1)];
        const d = Object.fromEntries(
          values.map((value) => [value.path.slice(2), value === wrong ? "∅" : value.equals]),
        );
        const body = JSON.stringify({ d }, null, indent);
        const patterns = moduleOf(check).http.fail_if_body_not_matches_regexp ?? [];

        const passes = patterns.every((pattern: string) => new RegExp(pattern).test(body));

        const seen = aResponse({ status: statusOf(check), body, durationMs: 0 });
        const assertions = check.assertions.filter(({ source }) => source !== "header");
        expect(passes).toBe(grade({ ...check, assertions }, seen).grade === "ok");
      }),
    );
  });

  it.each([
    [{ path: "n", equals: 1 }, '{"n":12}', false],
    [{ path: "n", equals: 1 }, '{"n":1.5}', false],
    [{ path: "n", equals: 1 }, '{"n":1}', true],
    [{ path: "list.1", equals: 3 }, '{"list":[2, 3]}', true],
    [{ path: "list.1", equals: 3 }, '{"list":[2, 13]}', false],
    [{ path: "a.b", equals: "x.y" }, '{"a":{"b":"xzy"}}', false],
    [{ path: "$.list[1]", equals: 3 }, '{"list":[2, 3]}', true],
    [{ path: "a['b.c']", equals: 3 }, '{"a":{"b.c":3}}', true],
    [{ path: "a['b.c']", equals: 3 }, '{"a":{"c":3}}', false],
    [{ path: "$", equals: "OK" }, ' "OK"\n', true],
    [{ path: "gone", equals: null }, '{"gone" : null}', true],
  ])("%j in %s: %s", (value, body, wanted) => {
    const check = anApiCheck({ assertions: [{ source: "json", ...value }] });
    const [pattern] = moduleOf(check).http.fail_if_body_not_matches_regexp;

    const passes = new RegExp(pattern).test(body);

    expect(passes).toBe(wanted);
  });
});

function statusOf({ assertions }: CheckOf<"http">): number {
  return Number(assertions.find((assertion) => assertion.source === "status")?.equals ?? 200);
}

it("a module takes every status of a list and of a class", () => {
  const check = anApiCheck({ assertions: [{ source: "status", equals: ["2xx", 304] }] });

  const { valid_status_codes: codes } = moduleOf(check).http;

  expect([codes.length, codes[0], codes[99], codes[100]]).toEqual([101, 200, 299, 304]);
});

describe("scrapes", () => {
  it("each check is probed at its address as often as it runs", () => {
    fc.assert(
      fc.property(arbitraryDefinitions, (definitions) => {
        const [, ...scrapes] = read(definitions, "prometheus.yml").scrape_configs;

        const wanted = definitions.apiChecks.map(({ id, path, frequencySeconds }) => [
          [id],
          `https://api.example.com${path}`,
          `${frequencySeconds}s`,
        ]);
        // biome-ignore lint/suspicious/noExplicitAny: as parsed from YAML
        const found = scrapes.map((scrape: any) => [
          scrape.params.module,
          scrape.static_configs[0].targets[0],
          scrape.scrape_interval,
        ]);
        expect(found).toEqual(wanted);
      }),
    );
  });

  it("Vedette's own metrics are scraped at their address", () => {
    const [own] = read(defined, "prometheus.yml").scrape_configs;

    expect(own.static_configs).toEqual([{ targets: ["127.0.0.1:7072"] }]);
  });

  it("the scrape timeout is above that of the probe, and at most its period", () => {
    const seconds = (text: string) => Number.parseInt(text, 10);
    fc.assert(
      fc.property(arbitraryApiCheck, (check) => {
        const [, scrape] = read(
          { ...defined, apiChecks: [check] },
          "prometheus.yml",
        ).scrape_configs;

        expect(seconds(scrape.scrape_timeout) * 1_000).toBeGreaterThan(check.failedAboveMs);
        expect(seconds(scrape.scrape_timeout)).toBeLessThanOrEqual(check.frequencySeconds);
      }),
    );
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

  it.each([10, 60, 86_400])(
    "of probes every %i s are looked at often enough to see each",
    (frequencySeconds) => {
      const apiChecks = [anApiCheck({ frequencySeconds })];

      const [group] = read(
        { ...defined, apiChecks },
        `rules/probes-every-${frequencySeconds}s.yml`,
      ).groups;

      expect(Number.parseInt(group.interval, 10)).toBeLessThanOrEqual(frequencySeconds / 2);
      expect(Number.parseInt(group.interval, 10)).toBeLessThanOrEqual(60);
    },
  );

  it("a check with a threshold alerts after as many failed probes", () => {
    const apiChecks = [anApiCheck({ failedRunThreshold: 3, frequencySeconds: 60 })];

    const { rules } = read({ ...defined, apiChecks }, "rules/probes-every-60s.yml").groups[0];

    expect(rules[0]).toMatchObject({ alert: "VedetteProbeFailed", for: "120s" });
  });
});
