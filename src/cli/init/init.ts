/** `vedette init`: the files that a directory begins with. */
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { print } from "#cli/print.ts";
import { findDefinitions } from "#definitions/commands.ts";
import { definitionsText, settingsText } from "./texts.ts";

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
