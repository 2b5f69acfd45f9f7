/** Commands that read the rows of alert routes. */

import { createWhyNobody } from "#app/monitor-secrets.ts";
import { complain, print, printJson } from "#cli/print.ts";
import { createTable, plain } from "#cli/table.ts";
import { readConfig } from "#config.ts";
import { readFileChecks, readFileRows } from "#definitions/commands.ts";
import { lintAlertRoutes, simulateAlert, walkAll } from "#routing/commands.ts";

type LintOptions = { strict: boolean; config?: string; json: boolean };

/** Exit code 1: there are errors, or with `strict` warnings. */
export async function lint({ strict, config, json }: LintOptions): Promise<number> {
  const settings = readConfig({ file: config, environment: process.env });
  const report = lintAlertRoutes(await readFileRows(settings), settings.incident);
  const { findings } = report;
  const errors = findings.filter(({ level }) => level === "error").length;
  const code = errors > 0 || (strict && findings.length > 0) ? 1 : 0;
  if (json) {
    printJson(report);
    return code;
  }
  for (const { level, about, message, paste } of findings) {
    print(plain(`${level}: ${about}: ${message}`));
    if (paste !== undefined)
      print(`To take it, add this row to the routes of your definitions:\n${paste}`);
  }
  const warnings = findings.length - errors;
  const tried = `${report.tried} kinds of alerts tried`;
  print(
    `${report.routes} routes, ${report.sources} sources, ${tried}: ${count(errors, "error")}, ${count(warnings, "warning")}`,
  );
  return code;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

type SimulateOptions = {
  source?: string;
  label: Record<string, string>;
  checks: boolean;
  config?: string;
  json: boolean;
};

export async function simulate(options: SimulateOptions): Promise<number> {
  const { source, label, checks, json } = options;
  if (checks) {
    if (source !== undefined || Object.keys(label).length > 0) {
      throw new Error("--checks simulates every check: leave out --source and --label");
    }
    return showWalks(options);
  }
  if (source === undefined) {
    throw new Error("name where the alert comes from with --source, or use --checks");
  }
  const settings = readConfig({ file: options.config, environment: process.env });
  const rows = await readFileRows(settings);
  const { simulation, unasked } = simulateAlert(rows, { source, labels: label });
  for (const name of unasked) {
    complain(`no route matches on the label ${name} of ${source}`);
  }
  if (json) printJson(simulation);
  else print(describeSimulation(simulation, settings.incident.url));
  return 0;
}

function describeSimulation({ routes, pages, channels }: Simulation, url: string): string {
  const why = url === "" ? "incident.url is not set" : undefined;
  const table = createTable(["route", "takes it", "because"]);
  for (const { route, matches, because } of routes) {
    table.push([plain(route), matches ? "yes" : "no", plain(because)]);
  }
  const outcome =
    channels.length === 0
      ? "no route takes it: the alert is dropped, and nobody is notified"
      : plain(`pages ${pagesWords(pages, why)}; posted to ${channels.join(", ")}`);
  return `${table}\n${outcome}`;
}

/** Nobody before the incident service is set up. */
function pagesWords(pages: readonly string[], why: string | undefined): string {
  const later = pages.join(", ");
  if (why === undefined) return later || "nobody";
  return `nobody (${why}${later === "" ? "" : `; later ${later}`})`;
}

type Simulation = ReturnType<typeof simulateAlert>["simulation"];

async function showWalks({ config, json }: SimulateOptions): Promise<number> {
  const settings = readConfig({ file: config, environment: process.env });
  const { rows, apiChecks, heartbeats } = await readFileChecks(settings);
  const checks = [...apiChecks, ...heartbeats];
  const walks = walkAll(rows, checks);
  const whyNobody = createWhyNobody(settings);
  const reasons = new Map(checks.map((check) => [check.id, whyNobody(check)]));
  if (json) {
    printJson({ checks: walks });
    return 0;
  }
  const table = createTable(["check", "channel", "source", "route", "pages", "posted to"]);
  for (const { check, channel, source, simulation } of walks) {
    const taken = simulation?.routes.filter(({ matches }) => matches) ?? [];
    const names = taken.map(({ route }) => route).join(", ");
    const { pages = [], channels = [] } = simulation ?? {};
    const paged = pagesWords(pages, reasons.get(check));
    const row = [channel ?? "", source ?? "", names, paged, channels.join(", ")];
    table.push([check, ...row.map((cell) => plain(cell) || "none")]);
  }
  print(String(table));
  return 0;
}
