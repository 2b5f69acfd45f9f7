/** The commands that work on the database itself, for whoever runs the program. */
import { type Command, Option } from "commander";
import { type Exit, load } from "#cli/load.ts";
import {
  parseAddresses,
  parseCount,
  parseExpiry,
  parseGrace,
  parsePageSize,
  parsePast,
  parsePermissions,
  parseSwitch,
} from "#cli/options.ts";

export function addOperatorCommands(program: Command, exit: Exit): void {
  addWorkspaceCommands(program, exit);
  const keys = program.command("keys").description("keys with which programs call the API");
  withDatabase(keys.command("create-root"))
    .description("make a root key; it is printed once and stored nowhere")
    .requiredOption("--workspace <id>", "the workspace that it acts on")
    .option("--name <name>", "what it is for", "made by an operator")
    .option(
      "--permissions <list>",
      "separated by commas, for example api.*.create_key,api.*.read_key (default: all)",
      parsePermissions,
    )
    .option(
      "--expires <when>",
      "a time (2027-01-31) or a span (90d, 12h) (default: never)",
      parseExpiry,
    )
    .action(load(exit, async () => (await import("./root-keys.ts")).makeRootKey));
  const upkeep = () => import("./key-upkeep.ts");
  withDatabase(keys.command("create-migration <id>"))
    .description("let keys.migrateKeys take over another program's keys under this id")
    .requiredOption("--workspace <id>", "the workspace that gets the keys")
    .addOption(
      new Option("--algorithm <name>", "how their hashes were made")
        .choices(["sha256", "github.com/seamapi/prefixed-api-key"])
        .default("sha256"),
    )
    .action(load(exit, async () => (await upkeep()).makeMigration));
  withDatabase(keys.command("reseal"))
    .description("seal recoverable keys anew by the first of api.encryption_keys")
    .action(load(exit, async () => (await upkeep()).resealAll));
  withDatabase(keys.command("forget-encryption-keys"))
    .description(
      "let processes with other api.encryption_keys start, once the earlier ones are lost",
    )
    .action(load(exit, async () => (await upkeep()).forgetEncryptionKeys));
  addRootKeyCommands(program, exit);
  addApiCommands(program, exit);
  addAuditCommands(program, exit);
}

function addRootKeyCommands(program: Command, exit: Exit): void {
  const rootKeys = program.command("root-keys").description("who may call the API, and since when");
  const from = () => import("./root-keys.ts");
  withDatabase(rootKeys.command("list"))
    .description("list the root keys, their last use and where they come from")
    .option("--all", "also those that were revoked or have expired")
    .action(load(exit, async () => (await from()).listRootKeys));
  withDatabase(rootKeys.command("revoke <id>"))
    .description("refuse a root key for good, at every process within a second")
    .action(load(exit, async () => (await from()).revokeRootKey));
  withDatabase(rootKeys.command("rotate <id>"))
    .description("make a key that may do the same, print it once, and end the old one")
    .option("--grace <span>", "how long the old one goes on, for example 24h", parseGrace, 0)
    .action(load(exit, async () => (await from()).rotateRootKey));
}

function addAuditCommands(program: Command, exit: Exit): void {
  const audit = program.command("audit").description("who did what, when and from where");
  withDatabase(audit.command("list"))
    .description("list the audit log, newest first")
    .option("--workspace <id>", "of this workspace only")
    .option("--event <name>", "such as key.decrypt, or key.* for all that begin so")
    .option("--actor <id>", "a root key's id, or operator:<user>")
    .option("--target <id>", "what it was done to: the id of a key, an API, a workspace")
    .option("--since <when>", "a time (2027-01-31) or a span back from now (7d)", parsePast)
    .option("--until <when>", "before this: a time, or a span back from now", parsePast)
    .option("--limit <count>", "how many, 1000 at most", parsePageSize, 50)
    .option("--cursor <cursor>", "the next page: what the last one ended with")
    .action(load(exit, async () => (await import("./audit.ts")).listAudit));
}

function addApiCommands(program: Command, exit: Exit): void {
  const apis = program.command("apis").description("what an API's keys may do");
  withDatabase(apis.command("set <id>"))
    .description("change what no procedure changes")
    .option("--ip-allowlist <list>", "from where its keys may be used, or none", parseAddresses)
    .option("--delete-protection <switch>", "on: it cannot be deleted", parseSwitch)
    .option("--recoverable-keys <switch>", "on: recoverable keys may be made", parseSwitch)
    .option("--default-prefix <prefix>", "of new keys, or none")
    .option("--default-bytes <count>", "of new keys, 16 to 255, or none", parseCount)
    .action(load(exit, async () => (await import("./apis.ts")).setApi));
}

function addWorkspaceCommands(program: Command, exit: Exit): void {
  const workspace = program.command("workspace").description("workspaces and their limits");
  const add = (name: string, description: string) =>
    withDatabase(workspace.command(name)).description(description);
  const from = () => import("./workspaces.ts");
  add("create <name>", "make a workspace and print its id").action(
    load(exit, async () => (await from()).createWorkspace),
  );
  add("list", "list the workspaces").action(load(exit, async () => (await from()).listWorkspaces));
  add("enable <id>", "let its keys be used again").action(
    load(exit, async () => (await from()).enableWorkspace),
  );
  add("disable <id>", "refuse all of its keys, within a second").action(
    load(exit, async () => (await from()).disableWorkspace),
  );
  add("set-limit <id>", "how many API calls it may make in a minute")
    .requiredOption("--per-minute <count>", "a whole number, or none", parseCount)
    .action(load(exit, async () => (await from()).setLimit));
  add("set-quota <id>", "how much it may use in a month before the operator is told")
    .requiredOption("--per-month <count>", "a whole number, or none", parseCount)
    .action(load(exit, async () => (await from()).setQuota));
}

function withDatabase(command: Command): Command {
  return command
    .option("--config <file>", "settings as TOML (default: VEDETTE_CONFIG, else ./vedette.toml)")
    .option("--data-dir <directory>", "of the Vedette on this machine (default: by the settings)")
    .option("--json", "print JSON for programs", false);
}
