import { complain, print, printAnswer, printJson } from "#cli/print.ts";
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
    throw new Error("name the source of the alert with --source, or use --checks");
  }
  const settings = readConfig({ file: options.config, environment: process.env });
  const rows = await readFileRows(settings);
  const { simulation, hints } = simulateAlert(rows, { source, labels: label });
  for (const hint of hints) complain(`no route matches on the label ${hint}`);
  return printAnswer(
    { ...simulation, ...nobodyOf(settings) },
    json,
    () => `${describeSimulation(simulation)}${describeUnset(settings)}`,
  );
}

function describeSimulation({ routes, pages, channels }: Simulation): string {
  const table = createTable(["route", "takes it", "because"]);
  for (const { route, matches, because } of routes) {
    table.push([plain(route), matches ? "yes" : "no", plain(because)]);
  }
  const outcome =
    channels.length === 0
      ? "no route takes it: the alert is dropped, and nobody is notified"
      : plain(`pages ${pages.join(", ") || "nobody"}; posted to ${channels.join(", ")}`);
  return `${table}\n${outcome}`;
}

type Simulation = ReturnType<typeof simulateAlert>["simulation"];

async function showWalks({ config, json }: SimulateOptions): Promise<number> {
  const settings = readConfig({ file: config, environment: process.env });
  const { rows, apiChecks, heartbeats } = await readFileChecks(settings);
  const walks = walkAll(rows, [...apiChecks, ...heartbeats]);
  if (json) {
    printJson({ checks: walks, ...nobodyOf(settings) });
    return 0;
  }
  const table = createTable(["check", "channel", "source", "route", "pages", "posted to"]);
  for (const { check, channel, source, simulation } of walks) {
    const taken = simulation?.routes.filter(({ matches }) => matches) ?? [];
    const names = taken.map(({ route }) => route).join(", ");
    const { pages = [], channels = [] } = simulation ?? {};
    const row = [channel ?? "", source ?? "", names, pages.join(", "), channels.join(", ")];
    table.push([check, ...row.map((cell) => plain(cell) || "none")]);
  }
  print(`${table}${describeUnset(settings)}`);
  return 0;
}

type Settings = ReturnType<typeof readConfig>;

/** Rows name people before anything is sent to them. */
function nobodyOf({ incident }: Settings): { reaches_nobody?: string } {
  return incident.url === "" ? { reaches_nobody: "incident.url is not set" } : {};
}

function describeUnset(settings: Settings): string {
  const { reaches_nobody: why } = nobodyOf(settings);
  return why === undefined
    ? ""
    : `\nNot yet: nobody is notified there, because ${why} (npx vedette doctor)`;
}
