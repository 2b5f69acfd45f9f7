/** `vedette ci trust`: the jobs of CI that may call without a secret. */
import { type Command, Option } from "commander";
import { withSettings } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";
import { parseRoles } from "#cli/options.ts";
import { roles } from "#kernel/roles.ts";

export function addCiCommands(program: Command, exit: Exit): void {
  const trust = program
    .command("ci")
    .description("manage CI jobs that call without a secret")
    .command("trust")
    .description("list, add and remove the rows of control.ci_trust")
    .addHelpText("after", examples);
  const from = () => import("./trust.ts");
  withSettings(trust.command("list"))
    .description("list the jobs that are trusted")
    .action(load(exit, async () => (await from()).listTrust));
  withSettings(trust.command("add <name>"))
    .description("add a row to the settings; it counts from the next start of control")
    .addOption(
      new Option("--preset <name>", "whose claims it compares (default: github)").choices([
        "github",
        "gitlab",
        "other",
      ]),
    )
    .option("--issuer <address>", "who signs the tokens (default: that of the preset)")
    .option("--audience <text>", "for whom the tokens are (default: control.public_url)")
    .option("--repository-id <id>", "the number of the repository or project")
    .option("--workflow <file>", "the file that describes the job, for example rollout.yml")
    .option("--ref <ref>", "a branch such as main, or tags such as refs/tags/v*")
    .option("--environment <name>", "the environment of the job")
    .option(
      "--events <list>",
      "what may cause the job, separated by commas (default: the preset's)",
    )
    .option("--claim <name=value...>", "a further claim that the token has to have")
    .option("--roles <roles>", `of ${roles.join(", ")} (default: operate)`, parseRoles)
    .action(load(exit, async () => (await from()).addTrust));
  withSettings(trust.command("remove <name>"))
    .description("remove a row from the settings; its sessions end at the next start of control")
    .action(load(exit, async () => (await from()).removeTrust));
}

const examples = `
Examples:
  vedette ci trust add github:acme/shop --repository-id 4711 --workflow rollout.yml --ref main --environment production
  vedette ci trust add gitlab:acme/shop --preset gitlab --repository-id 4711 --ref main
  vedette ci trust list
`;
