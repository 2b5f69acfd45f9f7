/** `vedette alerts`: who is notified of an alert. */
import { type Command, InvalidArgumentError } from "commander";
import { type Exit, load } from "#cli/load.ts";
import { addAlertmanagerCommands } from "./alertmanager-commands.ts";
import { addAlertEventCommands } from "./event-commands.ts";
import { addAlertSyncCommands } from "./sync-commands.ts";

export function addAlertCommands(program: Command, exit: Exit): void {
  const alerts = program
    .command("alerts")
    .description(
      "alert routes: who is paged, which channel is notified; alert events: their delivery",
    )
    .addHelpText("after", examples);
  const from = () => import("./routes.ts");
  alerts
    .command("lint")
    .description(
      "look for faults in the routes, and for alerts that no route takes; exit code 1: faults",
    )
    .option("--strict", "exit code 1 for warnings too", false)
    .option("--config <file>", "settings as TOML (default: VEDETTE_CONFIG, else ./vedette.toml)")
    .option("--json", "print JSON for programs", false)
    .action(load(exit, async () => (await from()).lint));
  alerts
    .command("simulate")
    .description("show which routes take an alert, who is paged, and which channel gets it")
    .option("--source <name>", "where the alert comes from")
    .option("--label <name=value>", "a label that it carries; may be repeated", addLabel, {})
    .option("--checks", "instead: every check and heartbeat, from its channel to the page", false)
    .option("--config <file>", "settings as TOML (default: VEDETTE_CONFIG, else ./vedette.toml)")
    .option("--json", "print JSON for programs", false)
    .action(load(exit, async () => (await from()).simulate));
  addAlertSyncCommands(alerts, exit);
  addAlertEventCommands(alerts, exit);
  addAlertmanagerCommands(alerts, exit);
}

type Labels = Record<string, string>;

/** As in Prometheus: any name, in quotes if there is an = in it, and any text, which may be empty. */
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
  vedette alerts plan --out plan.json                              what an apply would change
  vedette alerts apply plan.json
  vedette alerts simulate --checks                                 every check, to the page
  vedette alerts dead-letters                                      what was not accepted, and why
  vedette alerts test ops-chat                                     whether a channel works
  vedette alerts redeliver --all                                   once the cause is fixed
`;
