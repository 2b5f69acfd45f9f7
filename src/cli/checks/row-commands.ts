/** `vedette checks add` and `vedette heartbeats add`: rows of the file of definitions. */
import { type Command, InvalidArgumentError } from "commander";
import { definitionsFile, withSettings } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";
import { parseMs } from "#cli/options.ts";
import { parseDuration } from "#kernel/time.ts";
import type { CheckOptions } from "./rows.ts";

const from = () => import("./rows.ts");

export function addCheckRowCommand(checks: Command, exit: Exit): void {
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
    .action(load(exit, async () => (await from()).addCheck));
}

export function addHeartbeatRowCommand(heartbeats: Command, exit: Exit): void {
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
    .action(load(exit, async () => (await from()).addHeartbeat));
}

export function addNextTimesCommand(heartbeats: Command, exit: Exit): void {
  withSettings(heartbeats.command("next <id>"), definitionsFile)
    .description(
      "show the next five times of a heartbeat by cron, as the file of definitions has it",
    )
    .action(load(exit, async () => (await import("./heartbeat-times.ts")).nextTimes));
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
