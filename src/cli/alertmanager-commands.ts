/** `vedette alerts rotate`, `export alertmanager` and `alertmanager`: what the senders of alerts have. */
import { type Command, Option } from "commander";
import { environments } from "#alerting/routes-contract.ts";
import { type Exit, load } from "./load.ts";

export function addAlertmanagerCommands(alerts: Command, exit: Exit): void {
  const from = () => import("./alertmanager.ts");
  withSettings(alerts.command("rotate"))
    .description("bring the tokens of an environment's alert sources to those who send with them")
    .addOption(environmentOption().makeOptionMandatory())
    .action(load(exit, async () => (await from()).rotate));
}

function environmentOption(): Option {
  return new Option("--environment <name>", "production or staging").choices(environments);
}

function withSettings(command: Command): Command {
  return command
    .option("--config <file>", "settings as TOML (default: VEDETTE_CONFIG, else ./vedette.toml)")
    .option("--json", "print JSON for programs", false);
}
