/** `vedette init`: the files that a directory begins with. */
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { findDefinitions } from "#definitions/commands.ts";
import { print } from "./print.ts";

const settingsName = "vedette.toml";
const definitionsName = "vedette.config.ts";

/** Writes nothing when one of the files is there. */
export async function init(): Promise<number> {
  const directory = process.cwd();
  const definitions = findDefinitions(directory);
  const present = [
    ...(existsSync(settingsName) ? [settingsName] : []),
    ...(definitions === undefined ? [] : [path.basename(definitions)]),
  ];
  if (present.length > 0) {
    const is = present.length === 1 ? "is" : "are";
    throw new Error(`${present.join(" and ")} ${is} here already: nothing was written`);
  }
  // `wx`: one that appeared meanwhile is not overwritten either.
  writeFileSync(definitionsName, definitionsText, { flag: "wx" });
  writeFileSync(settingsName, settingsText, { flag: "wx" });
  print(next);
  return 0;
}

const next = `Wrote ${definitionsName}, what is watched and who is alerted, and ${settingsName}, the settings.
Next:
  npx vedette start                                 run it with them
  npx vedette checks add https://shop.example.com/  watch an address
  npx vedette heartbeats add backup --every 1d --grace 1h
  npx vedette config check                          look for mistakes, after an edit
  npx vedette config plan                           what an edit changes in the running program`;

/** Everything in the two texts is commented out that is not the default. */
export const definitionsText = `// What is watched, and who is alerted: docs/definitions.md of Vedette says more.
// After an edit: vedette config check, then vedette config plan and vedette config apply.
import { defineConfig, standard } from "vedette/config";

export default defineConfig({
  // Vedette's own rows: checks of its API, heartbeats of its jobs, their channels and routes.
  // A row of the same id replaces one of them; in an object, as checks: { liveness: null }, null removes it.
  extends: [standard],

  // Further files, relative to this one.
  // include: ["checks/*.yaml"],

  // API checks. vedette checks add <url> writes one to paste here.
  checks: [
    // {
    //   id: "shop",
    //   url: "https://shop.example.com/health",
    //   headers: { authorization: "Bearer {{SHOP_TOKEN}}" }, // VEDETTE_SECRET_SHOP_TOKEN, and ..._HOSTS=shop.example.com
    //   frequencySeconds: 60,
    //   failedAboveMs: 10_000,
    //   channels: ["production"],
    // },
  ],

  // Jobs that ping. vedette heartbeats add <name> --every 1d --grace 1h writes one.
  heartbeats: [
    // { id: "backup", periodSeconds: 86_400, graceSeconds: 3_600, channels: ["production"] },
  ],
});
`;

export const settingsText = `# The settings of Vedette: docs/settings.md of Vedette has all of them.
# Each can also be given by the environment: data_dir as VEDETTE_DATA_DIR, api.port as VEDETTE_API__PORT.
# A secret is better there than here.

# Where Restate, Postgres, analytics and generated secrets are kept.
# data_dir = ".vedette"

[log]
# level = "info"

[api]
# The public API.
# host = "127.0.0.1"
# port = 7070

[control]
# The console, and the gateway for the command line and pipelines.
# host = "127.0.0.1"
# port = 7071

[database]
# A Postgres of your own; empty: an embedded one.
# url = ""

[fleet]
# process: sentinels on this machine, to try things; docker: containers of Docker hosts; http: a fleet
# of your own.
# driver = "process"

[definitions]
# Empty: vedette.config.* in the working directory.
# file = ""
# Whether a start applies it; never: vedette config apply does.
# apply = "start"

[incident]
# Where alerts go.
# url = ""
`;
