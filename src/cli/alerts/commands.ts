import { type Command, InvalidArgumentError, Option } from "commander";
import { environments, eventStatuses } from "#alerts/contract.ts";
import { definitionsFile, withConnection, withSettings } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";
import { wholeNumber } from "#cli/options.ts";
import { isTimeZone } from "#kernel/time.ts";

export function addAlertCommands(program: Command, exit: Exit): void {
  const alerts = program
    .command("alerts")
    .description(
      "manage alert routes (who is paged, which channel is notified) and the delivery of alert events",
    )
    .addHelpText("after", examples);
  const from = () => import("./routes.ts");
  withSettings(alerts.command("lint"))
    .description("find faults in the routes, and alerts that no route takes; exit code 1: faults")
    .option("--strict", "exit code 1 for warnings too", false)
    .action(load(exit, async () => (await from()).lint));
  withSettings(alerts.command("simulate"))
    .description("show which routes take an alert, who is paged, and which channel gets it")
    .option("--source <name>", "source of the alert")
    .option("--label <name=value>", "a label that it carries; may be repeated", addLabel, {})
    .option("--checks", "simulate every check and heartbeat, from its channel to the page", false)
    .action(load(exit, async () => (await from()).simulate));
  withConnection(alerts.command("backtest"))
    .description(
      "show who past alerts would have notified by the definitions of a file; exit code 2: others than today",
    )
    .option("--file <file>", definitionsFile)
    .option("--prune", "as after an apply that removes the rows that the file lacks", false)
    .option("--days <count>", "how far to go back, up to 400", wholeNumber(1, 400), 30)
    .option("--timezone <name>", "whose clocks count, such as Europe/Berlin", parseZone, "UTC")
    .option("--limit <count>", "most changed alerts to list", wholeNumber(1, 10_000), 20)
    .action(load(exit, async () => (await import("./backtest.ts")).backtestRoutes));
  addAlertSyncCommands(alerts, exit);
  addAlertEventCommands(alerts, exit);
  addAlertmanagerCommands(alerts, exit);
}

function parseZone(text: string): string {
  if (isTimeZone(text)) return text;
  throw new InvalidArgumentError("expected a time zone such as Europe/Berlin.");
}

type Labels = Record<string, string>;

/** Reads a label as Prometheus does: any name, in quotes if there is an = in it, and any text, which may be empty. */
function addLabel(text: string, labels: Labels): Labels {
  const [, quoted = "", bare, value = ""] =
    /^(?:"((?:[^"\\]|\\.)*)"|([^=]+))=(.*)$/s.exec(text) ?? [];
  const name = bare ?? quoted.replace(/\\(.)/gs, "$1");
  if (name === "")
    throw new InvalidArgumentError("expected a name, =, and a value: severity=critical.");
  if (Object.hasOwn(labels, name)) throw new InvalidArgumentError(`${name} is given twice.`);
  return { ...labels, [name]: value };
}

const examples = `
Examples:
  vedette alerts lint
  vedette alerts simulate --source alertmanager-production --label severity=critical
  vedette alerts backtest --file next.yaml                         who last month's alerts would page
  vedette alerts plan --out plan.json                              what an apply would change
  vedette alerts apply plan.json
  vedette alerts simulate --checks                                 every check, to the page
  vedette alerts dead-letters                                      what was not accepted, and why
  vedette alerts test ops-chat                                     whether a channel works
  vedette alerts redeliver --all                                   once the cause is fixed
`;

function addAlertEventCommands(alerts: Command, exit: Exit): void {
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
  withConnection(alerts.command("blame <check>"))
    .option("--episode <number>", "an earlier alert than the newest", wholeNumber(1, 1_000_000_000))
    .description("show what changed before an alert opened, the likeliest cause first")
    .action(load(exit, async () => (await import("./blame.ts")).showBlame));
  withConnection(alerts.command("test <channel>"))
    .description(
      "send a test failure and its recovery to a channel, once each; exit code 1: not accepted",
    )
    .action(load(exit, async () => (await import("./events.ts")).testChannel));
  withConnection(alerts.command("redeliver"))
    .argument("[events...]", "as listed by `vedette alerts dead-letters`")
    .option("--all", "all dead letters", false)
    .option("--token-refused", "all dead letters that were refused for the source's token", false)
    .option("--check <id>", "with --all or --token-refused: only of this check")
    .description(
      "send dead letters again, or pending events at once; exit code 1: some were not sent",
    )
    .action(load(exit, async () => (await from()).redeliver));
}

function withFilter(command: Command): Command {
  return command
    .option("--check <id>", "only events of this check")
    .option("--limit <count>", "most entries to list, up to 1000", wholeNumber(1, 1_000), 100);
}

function addAlertSyncCommands(alerts: Command, exit: Exit): void {
  const from = () => import("./sync.ts");
  const add = (name: string, description: string) =>
    withConnection(alerts.command(name)).description(description);
  const configHelp =
    "settings as TOML, for incident.* (default: VEDETTE_CONFIG, else ./vedette.toml)";
  add(
    "plan",
    "compare the routes with the incident service, and change nothing; exit code 0 in step, 2 changes or duplicate routes, 1 error",
  )
    .option("--out <file>", "save the plan, for alerts apply")
    .option("--config <file>", configHelp)
    .action(load(exit, async () => (await from()).plan));
  add(
    "apply [plan]",
    "apply a saved plan or a new one to the routes; exit code 1: not all are in step, or there are duplicates",
  )
    .option("--adopt", "take over routes of the same names that were there before", false)
    .option("--prune", "disable our routes without a row; delete them the next time", false)
    .option("--config <file>", configHelp)
    .action(load(exit, async () => (await from()).apply));
  add("backups", "list the backups of routes, one from before each apply").action(
    load(exit, async () => (await from()).listBackups),
  );
  add(
    "restore <backup>",
    "restore the routes of a backup: its id, or a file with it; exit code 2: not all were restored",
  )
    .option("--dry-run", "only show what it would change; exit codes as with plan", false)
    .option("--config <file>", configHelp)
    .action(load(exit, async () => (await from()).restore));
  add("status", "show the last apply, and drifted routes").action(
    load(exit, async () => (await from()).showStatus),
  );
}

/** `vedette alerts rotate`, `export alertmanager` and `alertmanager`: configures the senders of alerts. */
function addAlertmanagerCommands(alerts: Command, exit: Exit): void {
  const from = () => import("./alertmanager.ts");
  withSettings(alerts.command("rotate"))
    .description("write the tokens of an environment's alert sources to the files of their senders")
    .addOption(environmentOption("production or staging").makeOptionMandatory())
    .action(load(exit, async () => (await from()).rotate));
  const exports = alerts.command("export").description("write the routes for other programs");
  withSettings(exports.command("alertmanager"))
    .description("write the configuration of Alertmanager, and a script that checks it with amtool")
    .requiredOption("--out <directory>", "a new directory, or that of an earlier export")
    .addOption(environmentOption("only this one (default: all that have a source)"))
    .option("--alertmanager-version <version>", "of its reader (default: that at url)", readVersion)
    .action(load(exit, async () => (await from()).exportRoutes));
  const manager = alerts
    .command("alertmanager")
    .description("keep an alert manager in step with the routes");
  withSettings(manager.command("plan"))
    .description("compare its file and what it runs with; exit code 0 in step, 2 not, 1 error")
    .addOption(environmentOption("production or staging").makeOptionMandatory())
    .action(load(exit, async () => (await from()).plan));
  withSettings(manager.command("apply"))
    .description("write its file and reload it; restore the old file if it refuses the new one")
    .addOption(environmentOption("production or staging").makeOptionMandatory())
    .action(load(exit, async () => (await from()).apply));
}

function readVersion(text: string): string {
  const [, version] = /^v?(\d{1,9}\.\d{1,9}(?:\.\d{1,9})?)(?![.\d])/.exec(text) ?? [];
  if (version !== undefined) return version;
  throw new InvalidArgumentError("expected a version: 0.28.1.");
}

function environmentOption(description: string): Option {
  return new Option("--environment <name>", description).choices(environments);
}
