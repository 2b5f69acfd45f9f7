/** `vedette promotions`: which fleet takes an image only after another one. */
import type { Command } from "commander";
import { withConnection, withFleet } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";
import { parseFleet, parseReason } from "#cli/options.ts";

export function addPromotionCommands(program: Command, exit: Exit): void {
  const promotions = program
    .command("promotions")
    .description("let a fleet take an image only after another one completed it")
    .addHelpText("after", examples);
  const from = () => import("./promotions.ts");
  withFleet(promotions.command("list"), "all of them")
    .description("list the promotions")
    .action(load(exit, async () => (await from()).listPromotions));
  withFleet(promotions.command("add <id>"))
    .description("add a promotion; it applies to rollouts that are not started yet")
    .requiredOption("--after <fleet>", "the fleet that must complete the image first", parseFleet)
    .requiredOption("--reason <text>", "why", parseReason)
    .action(load(exit, async () => (await from()).addPromotion));
  withConnection(promotions.command("remove <id>"))
    .description("remove a promotion")
    .requiredOption("--reason <text>", "why; the log keeps it", parseReason)
    .action(load(exit, async () => (await from()).removePromotion));
}

const examples = `
Examples:
  vedette promotions add staging-first --fleet production --after staging --reason "our release process"
  vedette promotions remove staging-first --reason "incident 4711: the fix has to go out"
`;
