/** Sentinels as options name them: by id, region and label. */
import type { Command } from "commander";
import type { Selector } from "#rollout/choice/contract.ts";
import { parseLabels, parseList } from "./options.ts";

/** The options' names begin with `prefix`: "" or "exclude-". */
export function withSelector(command: Command, prefix: string, what: string): Command {
  return command
    .option(`--${prefix}ids <ids>`, `${what}: by id, for example gw-7,gw-8`, parseList)
    .option(`--${prefix}regions <regions>`, `${what}: by region`, parseList)
    .option(
      `--${prefix}labels <labels>`,
      `${what}: by label, for example tier=canary; all of several`,
      parseLabels,
    );
}

/** undefined: no option names any. */
export function selectorOf({ ids, regions, labels }: Selector): Selector | undefined {
  return (ids ?? regions ?? labels) && { ids, regions, labels };
}
