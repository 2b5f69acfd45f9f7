/** The commands that work directly on the database, for the person who runs the program. */
import { type Command, Option } from "commander";
import { withSettings } from "#cli/connection-options.ts";
import { type Exit, load } from "#cli/load.ts";
import {
  parseAddresses,
  parseCount,
  parseExpiry,
  parseGrace,
  parseHead,
  parsePast,
  parsePermissions,
  parseSince,
  parseSwitch,
  wholeNumber,
} from "#cli/options.ts";

export function addOperatorCommands(program: Command, exit: Exit): void {
  addWorkspaceCommands(program, exit);
  const keys = program.command("keys").description("create keys, and seal recoverable ones");
  withDatabase(keys.command("create-root"))
    .description("create a root key; it is printed once and stored nowhere")
    .requiredOption("--workspace <id>", "the workspace that it acts on")
    .option("--name <name>", "purpose of the key", "made by an operator")
    .option(
      "--permissions <list>",
      "separated by commas, for example api.*.create_key,api.*.read_key (default: all)",
      parsePermissions,
    )
    .option(
      "--expires <when>",
      "expiry: a time (2027-01-31) or a span (90d, 12h) (default: never)",
      parseExpiry,
    )
    .action(load(exit, async () => (await import("./root-keys.ts")).makeRootKey));
  const upkeep = () => import("./root-keys.ts");
  withDatabase(keys.command("create-migration <id>"))
    .description("let keys.migrateKeys import another program's keys under this id")
    .requiredOption("--workspace <id>", "the workspace that gets the keys")
    .addOption(
      new Option("--algorithm <name>", "algorithm of their hashes")
        .choices(["sha256", "github.com/seamapi/prefixed-api-key"])
        .default("sha256"),
    )
    .action(load(exit, async () => (await upkeep()).makeMigration));
  withDatabase(keys.command("reseal"))
    .description("seal recoverable keys again with the first of api.encryption_keys")
    .action(load(exit, async () => (await upkeep()).resealAll));
  withDatabase(keys.command("forget-encryption-keys"))
    .description(
      "let processes with other api.encryption_keys start, once the earlier ones are lost",
    )
    .action(load(exit, async () => (await upkeep()).forgetEncryptionKeys));
  withDatabase(keys.command("rotate-proof"))
    .description("sign proofs of rollouts with a new key; the public half of the old one stays")
    .action(load(exit, async () => (await upkeep()).rotateProof));
  addRootKeyCommands(program, exit);
  addApiCommands(program, exit);
  addAuditCommands(program, exit);
}

function addRootKeyCommands(program: Command, exit: Exit): void {
  const rootKeys = program.command("root-keys").description("list, rotate and revoke root keys");
  const from = () => import("./root-keys.ts");
  withDatabase(rootKeys.command("list"))
    .description("list the root keys, their last use and their origin")
    .option("--all", "list revoked and expired keys, too")
    .action(load(exit, async () => (await from()).listRootKeys));
  withDatabase(rootKeys.command("revoke <id>"))
    .description("revoke a root key for good, at every process within a second")
    .action(load(exit, async () => (await from()).revokeRootKey));
  withDatabase(rootKeys.command("rotate <id>"))
    .description("create a key with the same permissions, print it once, and end the old one")
    .option("--grace <span>", "validity of the old key, for example 24h", parseGrace, 0)
    .action(load(exit, async () => (await from()).rotateRootKey));
}

function addAuditCommands(program: Command, exit: Exit): void {
  const audit = program.command("audit").description("show who did what, when and from where");
  withDatabase(audit.command("list"))
    .description("list the audit log, newest first")
    .option("--workspace <id>", "only of this workspace")
    .option("--event <name>", "only this kind: key.decrypt, or key.* for all with this prefix")
    .option("--actor <id>", "the id of a root key, or operator:<user>")
    .option("--target <id>", "the id of the changed key, API or workspace")
    .option("--since <when>", "from a time (2027-01-31) or a span back from now (7d)", parsePast)
    .option("--until <when>", "before a time, or a span back from now", parsePast)
    .option("--limit <count>", "most entries to list, up to 1000", wholeNumber(1, 1_000), 50)
    .option("--cursor <cursor>", "show the next page: the cursor that the last page printed")
    .action(load(exit, async () => (await import("./audit.ts")).listAudit));
  withDatabase(audit.command("verify"))
    .description("check that no row was changed or removed; exits with 2 and names the first one")
    .option("--head <cursor:hash>", "a head that verify has printed before", parseHead)
    .action(load(exit, async () => (await import("./audit.ts")).verifyAudit));
  withDatabase(audit.command("export"))
    .description("write the audit log as JSON lines, the oldest row first")
    .option("--since <cursor>", "after the cursor of a line, or from a time or span on", parseSince)
    .option("--follow", "wait for further rows")
    .action(load(exit, async () => (await import("./audit.ts")).exportAudit));
}

function addApiCommands(program: Command, exit: Exit): void {
  const apis = program.command("apis").description("change the settings of an API");
  withDatabase(apis.command("set <id>"))
    .description("change settings that no procedure of the public API changes")
    .option("--ip-allowlist <list>", "networks that may use its keys, or none", parseAddresses)
    .option("--delete-protection <switch>", "on: protect the API from deletion", parseSwitch)
    .option("--recoverable-keys <switch>", "on: allow recoverable keys", parseSwitch)
    .option("--default-prefix <prefix>", "prefix of new keys, or none")
    .option("--default-bytes <count>", "random bytes of new keys, 16 to 255, or none", parseCount)
    .action(load(exit, async () => (await import("./workspaces.ts")).setApi));
}

function addWorkspaceCommands(program: Command, exit: Exit): void {
  const workspace = program.command("workspace").description("manage workspaces and their limits");
  const add = (name: string, description: string) =>
    withDatabase(workspace.command(name)).description(description);
  const from = () => import("./workspaces.ts");
  add("create <name>", "create a workspace and print its id").action(
    load(exit, async () => (await from()).createWorkspace),
  );
  add("list", "list the workspaces").action(load(exit, async () => (await from()).listWorkspaces));
  add("enable <id>", "accept the keys of a workspace again").action(
    load(exit, async () => (await from()).enableWorkspace),
  );
  add("disable <id>", "refuse all keys of a workspace, within a second").action(
    load(exit, async () => (await from()).disableWorkspace),
  );
  add("set-limit <id>", "limit the API calls of a workspace in a minute")
    .requiredOption("--per-minute <count>", "a whole number, or none", parseCount)
    .action(load(exit, async () => (await from()).setLimit));
  add("set-quota <id>", "set the monthly use of a workspace above which the operator is notified")
    .requiredOption("--per-month <count>", "a whole number, or none", parseCount)
    .action(load(exit, async () => (await from()).setQuota));
}

function withDatabase(command: Command): Command {
  return withSettings(command).option(
    "--data-dir <directory>",
    "data directory of the Vedette on this machine (default: the settings')",
  );
}
