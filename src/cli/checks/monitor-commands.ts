/** What operators do about checks, ping URLs and further places; and the runner at such a place. */
import { type Command, InvalidArgumentError } from "commander";
import { withConnection } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";
import { parseDuration } from "#kernel/duration.ts";

export function addMonitorCommands(program: Command, checks: Command, exit: Exit): void {
  addOperatorCommands(checks, exit);
  addHeartbeatCommands(program, exit);
  addRunnerCommands(program, exit);
}

function addOperatorCommands(checks: Command, exit: Exit): void {
  const from = () => import("./operations.ts");
  const add = (name: string, description: string) =>
    withConnection(checks.command(`${name} <check>`)).description(description);
  add("run", "run an API check now; it alerts nobody; exit code 1 when it failed").action(
    load(exit, async () => (await from()).runCheck),
  );
  add("mute", "open no alert for a while; one that is open still resolves")
    .option("--for <span>", "for example 2h (default: until it is unmuted)", parseSpan)
    .action(load(exit, async () => (await from()).mute));
  add("unmute", "let alerts open again").action(load(exit, async () => (await from()).unmute));
  add("acknowledge", "note who is at work on the open alert")
    .requiredOption("--by <name>", "who")
    .action(load(exit, async () => (await from()).acknowledge));
  add("maintenance", "open no alert in a window of time")
    .requiredOption("--for <span>", "how long, for example 30m", parseSpan)
    .option(
      "--from <time>",
      "its beginning, for example 2027-01-31T02:00Z (default: now)",
      parseTime,
    )
    .requiredOption("--reason <text>", "what is done")
    .action(load(exit, async () => (await from()).maintain));
  add("end-maintenance", "drop all windows, also those to come").action(
    load(exit, async () => (await from()).endMaintenance),
  );
}

function addHeartbeatCommands(program: Command, exit: Exit): void {
  const heartbeats = program.command("heartbeats").description("the ping URLs of jobs");
  withConnection(heartbeats.command("register <id>"))
    .description(
      "make the ping URL of a heartbeat; it is printed once; an earlier one is void; from now on the job is waited for",
    )
    .action(load(exit, async () => (await import("./heartbeats.ts")).registerHeartbeat));
}

function addRunnerCommands(program: Command, exit: Exit): void {
  const runners = program.command("runners").description("further places that run checks");
  const from = () => import("./runners.ts");
  withConnection(runners.command("add <location>"))
    .description("make the token of a place; it is printed once; an earlier one is void")
    .action(load(exit, async () => (await from()).addRunner));
  withConnection(runners.command("remove <location>"))
    .description("take no more reports from a place, and wait for none")
    .action(load(exit, async () => (await from()).removeRunner));
  withConnection(runners.command("list"))
    .description("list the places, and when each was last heard of")
    .action(load(exit, async () => (await from()).listRunners));
  program
    .command("monitor-runner")
    .description("run the checks from this place, and report them, until it is told to stop")
    .requiredOption("--location <name>", "of this place, as in `vedette runners add`")
    .requiredOption("--control <address>", "where control of Vedette listens")
    .option("--token-file <file>", "with the token of this place (default: VEDETTE_RUNNER_TOKEN)")
    .option("--config <file>", "settings as TOML, for monitor.key and monitor.root_key")
    .action(load(exit, async () => (await import("./monitor-runner.ts")).runMonitorRunner));
}

function parseSpan(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms >= 1_000) return ms;
  throw new InvalidArgumentError("a span such as 30m, 2h or 1d.");
}

function parseTime(text: string): Date {
  const ms = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms)) return new Date(ms);
  throw new InvalidArgumentError("a time such as 2027-01-31T02:00Z.");
}
