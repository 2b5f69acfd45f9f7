/** `vedette drills`: test alerts that go through the whole chain. */
import type { Command } from "commander";
import { withConnection } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";

export function addDrillCommands(program: Command, exit: Exit): void {
  const drills = program
    .command("drills")
    .description("test alerts by a cron, which their channels have to accept");
  const from = () => import("./drills.ts");
  withConnection(drills.command("list"))
    .description("list the drills: status, last confirmation, what they test, open alert")
    .action(load(exit, async () => (await from()).listDrills));
  withConnection(drills.command("run <drill>"))
    .description("send the test alert of a drill now, outside its schedule")
    .action(load(exit, async () => (await from()).runDrill));
}
