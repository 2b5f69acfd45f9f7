/** `vedette engine` and `vedette upgrade`: invocations that do not progress, and versions of the program. */
import type { Command } from "commander";
import { withConnection } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";
import { parseGrace } from "#cli/options.ts";

export function addEngineCommands(program: Command, exit: Exit): void {
  const from = () => import("./engine.ts");
  const engine = program
    .command("engine")
    .description("list invocations that do not progress, and retry one");
  withConnection(engine.command("list", { isDefault: true }))
    .description("list what Restate retries or has paused, with its reason and what helps")
    .action(load(exit, async () => (await from()).showTroubled));
  withConnection(engine.command("retry <invocation>"))
    .description("make the next attempt of one at once, by the id that `vedette engine` lists")
    .action(load(exit, async () => (await from()).retryInvocation));
  const upgrade = program
    .command("upgrade")
    .description("see which versions of the program serve, and end what an earlier one has left");
  withConnection(upgrade.command("status"))
    .description("list the versions that Restate knows: which serves, and what each has not ended")
    .action(load(exit, async () => (await from()).showVersions));
  withConnection(upgrade.command("drain <revision>"))
    .description("wait until a version that no longer serves has ended everything")
    .option("--timeout <time>", "wait no longer, as 30m; exit code 2", parseGrace, 600)
    .action(load(exit, async () => (await from()).drainVersion));
  withConnection(upgrade.command("adopt <revision>"))
    .description("continue on the version that serves what an earlier one has started")
    .action(load(exit, async () => (await from()).adoptVersion));
}
