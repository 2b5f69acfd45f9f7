/** `vedette cron`: the timed jobs. */
import { Argument, type Command } from "commander";
import { withConnection } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";
import { cronJobs } from "#cron/contract.ts";

export function addCronCommands(program: Command, exit: Exit): void {
  const cron = program.command("cron").description("list and run the timed jobs");
  const from = async () => import("./cron.ts");
  withConnection(cron.command("list"))
    .description("list the jobs: when each runs next, and how it last ended")
    .action(load(exit, async () => (await from()).listJobs));
  withConnection(cron.command("run"))
    .addArgument(
      new Argument("<job>", "its name, as listed by `vedette cron list`").choices(cronJobs),
    )
    .description("run a job now and wait for its end; exit code 1 when it failed")
    .action(load(exit, async () => (await from()).runJob));
}
