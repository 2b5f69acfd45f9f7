/** `vedette checks`, `heartbeats`, `drills`, `runners` and `monitor-runner`. */
import { type Command, InvalidArgumentError } from "commander";
import { definitionsFile, withConnection, withSettings } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";
import { parseMs, parseUrl, wholeNumber } from "#cli/options.ts";
import { parseDuration } from "#kernel/time.ts";
import { type Grade, grades } from "#monitor/contract.ts";
import type { CheckOptions } from "./definitions.ts";

/** Returns the command, so that others can add subcommands. */
export function addCheckCommands(program: Command, exit: Exit): Command {
  const checks = program
    .command("checks")
    .description("show and manage API checks and heartbeats: status, results and definitions")
    .addHelpText("after", checkExamples);
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

const checkExamples = `
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

function addCheckRowCommand(checks: Command, exit: Exit): void {
  withRow(checks.command("add <url>"))
    .description(
      "append a check (print it, for TypeScript): https://…, tcp://host:port, tls://host or dns:name",
    )
    .option("--every <time>", "interval of the check, for example 30s (default: 1m)", parseSeconds)
    .option(
      "--expect <status>",
      "status of a good answer, such as 204, 200,204 or 2xx (default: 200)",
      parseStatuses,
    )
    .option("--degraded-above <time>", "slower than this is degraded (default: 5s)", parseMs)
    .option("--failed-above <time>", "slower than this is failed (default: 10s)", parseMs)
    .action(load(exit, async () => (await import("./definitions.ts")).addCheck));
}

function addHeartbeatRowCommand(heartbeats: Command, exit: Exit): void {
  withRow(heartbeats.command("add <name>"))
    .description(
      "append a heartbeat to the file of definitions, or print it to be pasted into TypeScript",
    )
    .option("--every <time>", "interval of the job, for example 1d", parseSeconds)
    .option("--cron <expression>", 'when the job runs instead, for example "0 3 * * 1-5"')
    .option("--timezone <name>", "time zone of --cron, for example Europe/Berlin (default: UTC)")
    .option("--cron-dialect <name>", "cron rules to follow: debian or kubernetes")
    .option("--early <time>", "time by which a ping may be early (default: 60s)", parseSeconds)
    .requiredOption("--grace <time>", "most delay of a ping, for example 1h", parseSeconds)
    .action(load(exit, async () => (await import("./definitions.ts")).addHeartbeat));
}

function addNextTimesCommand(heartbeats: Command, exit: Exit): void {
  withSettings(heartbeats.command("next <id>"), definitionsFile)
    .description(
      "show the next five times of a heartbeat by cron, as the file of definitions has it",
    )
    .action(load(exit, async () => (await import("./definitions.ts")).nextTimes));
}

function withRow(command: Command): Command {
  return withSettings(command, definitionsFile)
    .option("--id <id>", "lower-case letters, digits and hyphens (default: made of the argument)")
    .option("--name <name>", "name shown to people")
    .option("--environment <environment>", "production or staging (default: production)")
    .option("--channel <id>", "the channel to notify (default: none)");
}

function parseSeconds(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms % 1_000 === 0) return ms / 1_000;
  throw new InvalidArgumentError("expected whole seconds, such as 30s, 5m or 1d.");
}

function parseStatuses(text: string): CheckOptions["expect"] {
  const statuses = text.split(",").map((part) => part.trim());
  const [first, ...more] = statuses.map((one) => (/^\d+$/.test(one) ? Number(one) : one));
  if (first !== undefined && statuses.every((one) => /^[2-5](?:\d\d|xx)$/i.test(one))) {
    return more.length === 0 ? first : [first, ...more];
  }
  throw new InvalidArgumentError("expected HTTP statuses, such as 204, 200,204 or 2xx.");
}

export function addMonitorCommands(program: Command, checks: Command, exit: Exit): void {
  addOperatorCommands(checks, exit);
  addHeartbeatCommands(program, exit);
  addDrillCommands(program, exit);
  addRunnerCommands(program, exit);
}

function addOperatorCommands(checks: Command, exit: Exit): void {
  const from = () => import("./checks.ts");
  const add = (name: string, description: string) =>
    withConnection(checks.command(`${name} <check>`)).description(description);
  add("run", "run an API check now, without alerting; exit code 1 when it failed").action(
    load(exit, async () => (await from()).runCheck),
  );
  add("mute", "suppress new alerts for a while; an open one still resolves")
    .option("--for <span>", "mute for 2h, for example (default: until unmuted)", parseSpan)
    .action(load(exit, async () => (await from()).mute));
  add("unmute", "stop suppressing alerts").action(load(exit, async () => (await from()).unmute));
  add("acknowledge", "record who is working on the open alert")
    .requiredOption("--by <name>", "who works on it")
    .action(load(exit, async () => (await from()).acknowledge));
  add("maintenance", "suppress new alerts in a window of time")
    .requiredOption("--for <span>", "length of the window, for example 30m", parseSpan)
    .option(
      "--from <time>",
      "start of the window, for example 2027-01-31T02:00Z (default: now)",
      parseTime,
    )
    .requiredOption("--reason <text>", "describe the maintenance work")
    .action(load(exit, async () => (await from()).maintain));
  add("end-maintenance", "delete all maintenance windows, future ones included").action(
    load(exit, async () => (await from()).endMaintenance),
  );
}

function addHeartbeatCommands(program: Command, exit: Exit): void {
  const heartbeats = program
    .command("heartbeats")
    .description("show and manage heartbeats of jobs that ping: status, definitions and ping URLs");
  const from = () => import("./heartbeats.ts");
  withConnection(heartbeats.command("list"))
    .description("list the heartbeats: status, last ping, when the next is due, rule, open alert")
    .action(load(exit, async () => (await from()).listHeartbeats));
  withConnection(heartbeats.command("register <id>"))
    .description(
      "create the ping URL of a heartbeat; it is printed once; an earlier one becomes void; pings are expected from now on",
    )
    .action(load(exit, async () => (await from()).registerHeartbeat));
  addHeartbeatRowCommand(heartbeats, exit);
  addNextTimesCommand(heartbeats, exit);
}

function addRunnerCommands(program: Command, exit: Exit): void {
  const runners = program
    .command("runners")
    .description("manage runners: processes at further locations that run checks");
  const from = () => import("./runners.ts");
  withConnection(runners.command("add <location>"))
    .description("create the token of a location; it is printed once; an earlier one becomes void")
    .action(load(exit, async () => (await from()).addRunner));
  withConnection(runners.command("remove <location>"))
    .description("refuse reports from a location, and stop waiting for them")
    .action(load(exit, async () => (await from()).removeRunner));
  withConnection(runners.command("list"))
    .description("list the locations, and when the runner of each last called")
    .action(load(exit, async () => (await from()).listRunners));
  program
    .command("monitor-runner")
    .description("run the checks from this location, and report them, until SIGTERM or SIGINT")
    .requiredOption("--location <name>", "location of this runner, as in `vedette runners add`")
    .requiredOption("--control <address>", "where control of Vedette listens", parseUrl)
    .option("--token-file <file>", "file with the runner's token (default: VEDETTE_RUNNER_TOKEN)")
    .option("--config <file>", "settings as TOML, for monitor.key and monitor.root_key")
    .action(load(exit, async () => (await import("./runners.ts")).runMonitorRunner));
}

function parseSpan(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms >= 1_000) return ms;
  throw new InvalidArgumentError("expected a span such as 30m, 2h or 1d.");
}

function parseTime(text: string): Date {
  const ms = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms)) return new Date(ms);
  throw new InvalidArgumentError("expected a time such as 2027-01-31T02:00Z.");
}

function addDrillCommands(program: Command, exit: Exit): void {
  const drills = program
    .command("drills")
    .description("show and send drills: test alerts that channels have to accept");
  const from = () => import("./heartbeats.ts");
  withConnection(drills.command("list"))
    .description("list the drills: status, last confirmation, what they test, open alert")
    .action(load(exit, async () => (await from()).listDrills));
  withConnection(drills.command("run <drill>"))
    .description("send the test alert of a drill now, outside its schedule")
    .action(load(exit, async () => (await from()).runDrill));
}
