/** The commands of `vedette alerts` about events: which were delivered, which were not. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { eventStatuses } from "#alerts/contract.ts";
import { withConnection } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";

export function addAlertEventCommands(alerts: Command, exit: Exit): void {
  const from = () => import("./events.ts");
  withFilter(withConnection(alerts.command("events")))
    .addOption(new Option("--status <status>", "only these").choices(eventStatuses))
    .description("list alert events and the state of their delivery, newest first")
    .action(load(exit, async () => (await from()).listEvents));
  withFilter(withConnection(alerts.command("dead-letters")))
    .description("list the events that the receiver refused, or did not accept in time")
    .action(load(exit, async () => (await from()).listDeadLetters));
  withConnection(alerts.command("show <event>"))
    .description("show an event: where it goes, the body that is posted, why it was not accepted")
    .action(load(exit, async () => (await from()).showEvent));
  withConnection(alerts.command("test <channel>"))
    .description(
      "send a test failure and its recovery to a channel, once each; exit code 1: not accepted",
    )
    .action(load(exit, async () => (await import("./test-channel.ts")).testChannel));
  withConnection(alerts.command("redeliver"))
    .argument("[events...]", "as listed by `vedette alerts dead-letters`")
    .option("--all", "every dead letter", false)
    .option("--token-refused", "every dead letter that was refused for the source's token", false)
    .option("--check <id>", "with --all or --token-refused: only of this check")
    .description(
      "send dead letters again, or waiting events at once; exit code 1: some were not sent",
    )
    .action(load(exit, async () => (await from()).redeliver));
}

function withFilter(command: Command): Command {
  return command
    .option("--check <id>", "only events of this check")
    .option("--limit <count>", "how many, 1000 at most", parseLimit, 100);
}

function parseLimit(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= 1_000) return value;
  throw new InvalidArgumentError("expected a whole number from 1 to 1000.");
}
