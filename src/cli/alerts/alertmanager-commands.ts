/** `vedette alerts rotate`, `export alertmanager` and `alertmanager`: configures the senders of alerts. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { environments } from "#alerts/contract.ts";
import { withSettings } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";

export function addAlertmanagerCommands(alerts: Command, exit: Exit): void {
  const from = () => import("./alertmanager.ts");
  withSettings(alerts.command("rotate"))
    .description("write the tokens of an environment's alert sources to the files of their senders")
    .addOption(environmentOption("production or staging").makeOptionMandatory())
    .action(load(exit, async () => (await from()).rotate));
  const exports = alerts.command("export").description("write the routes for other programs");
  withSettings(exports.command("alertmanager"))
    .description("the configuration of Alertmanager, and a script that checks it with amtool")
    .requiredOption("--out <directory>", "a new one, or that of an earlier export")
    .addOption(environmentOption("only this one (default: all that have a source)"))
    .option("--alertmanager-version <version>", "its reader's (default: that at url)", readVersion)
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
