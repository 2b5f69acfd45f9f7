/** `vedette alerts plan`, `apply`, `backups`, `restore` and `status`. */
import type { Command } from "commander";
import { withConnection } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";

export function addAlertSyncCommands(alerts: Command, exit: Exit): void {
  const from = () => import("./sync.ts");
  const add = (name: string, description: string) =>
    withConnection(alerts.command(name)).description(description);
  const configHelp =
    "settings as TOML, for incident.* (default: VEDETTE_CONFIG, else ./vedette.toml)";
  add(
    "plan",
    "show what differs at the incident service, and change nothing; exit code 0 in step, 2 changes or duplicate routes, 1 error",
  )
    .option("--out <file>", "save the plan, for alerts apply")
    .option("--config <file>", configHelp)
    .action(load(exit, async () => (await from()).plan));
  add(
    "apply [plan]",
    "bring routes in step, by a saved plan or a new one; exit code 1: not all are, or there are duplicates",
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
  add("status", "show the last apply, and whether routes have drifted").action(
    load(exit, async () => (await from()).showStatus),
  );
}
