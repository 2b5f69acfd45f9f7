/** Commands of operators about checks, heartbeats, drills and runners; and `vedette monitor-runner` itself. */
import { type Command, InvalidArgumentError } from "commander";
import { withConnection } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";
import { parseUrl } from "#cli/options.ts";
import { parseDuration } from "#kernel/time.ts";
import { addHeartbeatRowCommand, addNextTimesCommand } from "./row-commands.ts";

export function addMonitorCommands(program: Command, checks: Command, exit: Exit): void {
  addOperatorCommands(checks, exit);
  addHeartbeatCommands(program, exit);
  addDrillCommands(program, exit);
  addRunnerCommands(program, exit);
}

function addOperatorCommands(checks: Command, exit: Exit): void {
  const from = () => import("./operations.ts");
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
