/** The API checks as modules of blackbox-exporter, and the scrapes that use them. */
import { STATUS_CODES } from "node:http";
import { parseJsonPath } from "#kernel/json-path.ts";
import type { ApiCheck, Definitions, RunnableOf } from "#monitor/contract.ts";
import { type Assertion, expandStatuses, isHttp } from "#monitor/kinds/contract.ts";
import { addressOf, describeRequest, maxBodyBytes } from "#monitor/probe/request.ts";
import { literally, writeOther } from "./other-kinds.ts";

type Settings = { baseUrl: string; secretPrefix: string; metricsAddress: string };

const exporterAddress = "127.0.0.1:9115";

/** How much earlier the exporter's timeout is than that of Prometheus. */
const marginSeconds = 1;

/** By check id. A module fails when the check does: by its timeout, status, headers and body. */
export function writeModules({ apiChecks }: Definitions, settings: Settings) {
  const modules = apiChecks.flatMap((check) => {
    const exported = writeProbe(check, settings);
    return exported === null ? [] : [[check.id, exported.module]];
  });
  return Object.fromEntries(modules);
}

/** null: the exporter cannot run such a check. */
function writeProbe(check: ApiCheck, settings: Settings) {
  const named = (text: string) =>
    text.replace(/\{\{(\w+)\}\}/g, (_, name: string) => `\${${settings.secretPrefix}_${name}}`);
  const exported = isHttp(check)
    ? { target: addressOf(check, settings.baseUrl), module: writeModule(check, named) }
    : writeOther(check, named);
  if (exported === null) return null;
  const { prober, ...rest } = exported.module;
  const module = { prober, timeout: `${check.failedAboveMs}ms`, ...rest };
  return { target: exported.target, module };
}

function writeModule(check: RunnableOf<"http">, named: (text: string) => string) {
  const { headers, body } = describeRequest(check);
  const filled = Object.entries(headers).map(([name, value]) => [name, named(value)]);
  return {
    prober: "http",
    http: {
      method: check.method,
      // As in our own probes; a redirect must not carry the secrets to another address.
      follow_redirects: false,
      enable_http2: false,
      // Tried first; the other family when the name has no such address.
      preferred_ip_protocol: "ip4",
      ip_protocol_fallback: true,
      tls_config: { insecure_skip_verify: false },
      body_size_limit: `${maxBodyBytes}B`,
      ...(filled.length > 0 && { headers: Object.fromEntries(filled) }),
      ...(body !== null && { body: named(JSON.stringify(body)) }),
      ...writeAssertions(check.assertions),
    },
  };
}

function writeAssertions(assertions: readonly Assertion[]) {
  const statuses: number[] = [];
  const bodies: string[] = [];
  const headers: { header: string; regexp: string }[] = [];
  for (const assertion of assertions) {
    if (assertion.source === "status") statuses.push(...expandStatuses(assertion.equals));
    else if (assertion.source === "json") bodies.push(toPattern(assertion));
    else headers.push({ header: assertion.name, regexp: literally(assertion.contains) });
  }
  return {
    // Without a list the exporter accepts only 2xx; a check that asserts no status accepts any.
    valid_status_codes: statuses.length > 0 ? statuses : anyStatus,
    ...(bodies.length > 0 && { fail_if_body_not_matches_regexp: bodies }),
    ...(headers.length > 0 && { fail_if_header_not_matches: headers }),
  };
}

/** The exporter has no ranges of statuses: lists every final one that has a name. */
const anyStatus = Object.keys(STATUS_CODES)
  .map(Number)
  .filter((status) => status >= 200);

/**
 * A pattern for the text of a body: the last name of the path, followed by the value; in a list `[`, `,` or
 * `:` precede the value. A number must not be the beginning of a longer one.
 */
function toPattern({ path, equals }: Extract<Assertion, { source: "json" }>): string {
  const value = literally(JSON.stringify(equals));
  const end = typeof equals === "number" ? "(?:[^0-9.eE]|$)" : "";
  const name = parseJsonPath(path)?.at(-1);
  if (name === undefined) return `^\\s*${value}\\s*$`;
  const isPlace = typeof name === "number";
  const before = isPlace ? "[\\[,:]" : `${literally(JSON.stringify(name))}\\s*:`;
  return `${before}\\s*${value}${end}`;
}

/** The scrape interval of Vedette's own metrics: the default of a minute would add the period of a run. */
export const ownInterval = "15s";

export function writeScrapes({ apiChecks }: Definitions, settings: Settings) {
  const own = {
    job_name: "vedette",
    scrape_interval: ownInterval,
    static_configs: [{ targets: [settings.metricsAddress] }],
  };
  return [own, ...apiChecks.flatMap((check) => writeScrape(check, settings))];
}

function writeScrape(check: ApiCheck, settings: Settings) {
  const exported = writeProbe(check, settings);
  if (exported === null) return [];
  const { id, environment, frequencySeconds } = check;
  const wanted = Math.ceil(check.failedAboveMs / 1_000) + marginSeconds;
  const scrape = {
    job_name: `vedette-probe-${id}`,
    metrics_path: "/probe",
    params: { module: [id] },
    scrape_interval: `${frequencySeconds}s`,
    scrape_timeout: `${Math.min(wanted, frequencySeconds)}s`,
    static_configs: [{ targets: [exported.target], labels: { check: id, environment } }],
    relabel_configs: [
      { source_labels: ["__address__"], target_label: "__param_target" },
      { source_labels: ["__param_target"], target_label: "instance" },
      { target_label: "__address__", replacement: exporterAddress },
    ],
  };
  return [scrape];
}
