import { type Command, Option } from "commander";
import { parseFleet } from "./options.ts";

/** The options of every command that calls a running Vedette. */
export function withConnection(command: Command): Command {
  return withAddress(command).option(
    "--token-file <file>",
    "file with a token (default: INGRESS_TOKEN, else `vedette login`, else local)",
  );
}

/** Adds the options of a command that needs no token. */
export function withAddress(command: Command): Command {
  return command
    .option("--url <address>", "where control listens (default: VEDETTE_CONTROL_URL, else local)")
    .option(
      "--data-dir <directory>",
      "data directory of a local Vedette (default: VEDETTE_DATA_DIR, else the settings')",
    )
    .option("--json", "print JSON for programs", false);
}

/** Adds the options of a command that reads the settings, and needs no running Vedette; `file`: what `--config` names. */
export function withSettings(command: Command, file = settingsFile): Command {
  return command.option("--config <file>", file).option("--json", "print JSON for programs", false);
}

export const settingsFile = "settings as TOML (default: VEDETTE_CONFIG, else ./vedette.toml)";
export const definitionsFile = "the definitions (default: definitions.file, else vedette.config.*)";

/** Adds the option for one of several fleets; `otherwise`: the fleets that are meant without it. */
export function withFleet(command: Command, otherwise = "the default one"): Command {
  const fleet = new Option("--fleet <name>", `which of several fleets (default: ${otherwise})`);
  fleet.argParser(parseFleet);
  // Set to nothing it counts as absent, as every variable does.
  return withConnection(command).addOption(
    process.env["VEDETTE_FLEET"] ? fleet.env("VEDETTE_FLEET") : fleet,
  );
}
