/** `vedette checks`: definitions, status and results of checks. */
import { type Command, InvalidArgumentError } from "commander";
import { withConnection, withSettings } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";
import { parseMs, parseUrl, wholeNumber } from "#cli/options.ts";
import { parseDuration } from "#kernel/time.ts";
import { type Grade, grades } from "#monitor/contract.ts";
import { addCheckRowCommand } from "./row-commands.ts";

/** Returns the command, so that others can add subcommands. */
export function addCheckCommands(program: Command, exit: Exit): Command {
  const checks = program
    .command("checks")
    .description("show and manage API checks and heartbeats: status, results and definitions")
    .addHelpText("after", examples);
  addReadingCommands(checks, exit);
  addReplayCommand(checks, exit);
  addDefinitionCommands(checks, exit);
  addCheckRowCommand(checks, exit);
  return checks;
}

function addReadingCommands(checks: Command, exit: Exit): void {
  const from = () => import("./checks.ts");
  withConnection(checks.command("list"))
    .description("list the checks: status, last duration, open alert")
    .action(load(exit, async () => (await from()).listChecks));
  withConnection(checks.command("history <check>"))
    .description("show response times with percentiles, alerts and the last results of a check")
    .option("--since <span>", "how far back, for example 6h or 7d (default: 24h)", parseHours)
    .option("--limit <count>", "results and alerts to show, up to 1000", wholeNumber(1, 1_000), 20)
    .option("--location <name>", "only results of this location")
    .option("--grade <grade>", "only results that are ok, degraded or failed", parseGrade)
    .action(load(exit, async () => (await from()).showHistory));
  withConnection(checks.command("watch"))
    .argument("[checks...]", "only these")
    .description("show the status of the checks, then every change, until Ctrl-C")
    .action(load(exit, async () => (await import("./watch.ts")).watchChecks));
}

function addReplayCommand(checks: Command, exit: Exit): void {
  withConnection(checks.command("replay <check>"))
    .description("show past alerts under other rules, from the recorded results")
    .option("--since <span>", "how far back, for example 7d (default: 7d)", parseHours)
    .option("--failed-above <time>", "slower than this is failed, for example 2s", parseMs)
    .option("--degraded-above <time>", "slower than this is degraded", parseMs)
    .option("--failed-runs <count>", "failed runs in a row that open an alert", wholeNumber(1, 100))
    .option(
      "--failed-at-percent <percent>",
      "a run fails when so many locations do; 0: when any does",
      wholeNumber(0, 100),
    )
    .action(load(exit, async () => (await import("./checks.ts")).replay));
}

function addDefinitionCommands(checks: Command, exit: Exit): void {
  const from = () => import("./definitions.ts");
  withSettings(checks.command("lint"))
    .description("find faults in the definitions; exit code 1 when there are any")
    .action(load(exit, async () => (await from()).lint));
  const exports = checks.command("export").description("write the definitions for other programs");
  withExport(exports.command("checkly"))
    .description("write a project for the hosted monitor's own command line")
    .option("--base-url <address>", "where the API is (default: monitor.base_url)", parseUrl)
    .action(load(exit, async () => (await from()).exportToCheckly));
  withExport(exports.command("prometheus"))
    .description("write alert rules on the metrics of Vedette")
    .action(load(exit, async () => (await from()).exportToPrometheus));
}

function withExport(command: Command): Command {
  return withSettings(command).requiredOption(
    "--out <directory>",
    "a new directory, or that of an earlier export",
  );
}

/** 400 days, the limit of the handlers that read results. */
const maxHours = 9_600;

/** Whole hours, rounded up: results are stored for days. */
function parseHours(text: string): number {
  const hours = Math.ceil((parseDuration(text) ?? 0) / 3_600_000);
  if (hours >= 1 && hours <= maxHours) return hours;
  throw new InvalidArgumentError("expected a span such as 6h or 7d, 400d at most.");
}

function parseGrade(text: string): Grade {
  const grade = grades.find((name) => name === text);
  if (grade !== undefined) return grade;
  throw new InvalidArgumentError(`expected one of ${grades.join(", ")}.`);
}

const examples = `
Examples:
  vedette checks list
  vedette checks history verify-key --since 7d
  vedette checks replay verify-key --failed-above 2s --since 7d     what would have paged
  vedette checks run liveness                                       now, without alerting
  vedette checks maintenance verify-key --for 30m --reason "database upgrade"
  vedette checks export checkly --out checks --base-url https://api.example.com
  vedette checks add https://shop.example.com/health --every 1m --channel production
  vedette checks list --json | jq '.checks[] | select(.alert) | .id'
`;
