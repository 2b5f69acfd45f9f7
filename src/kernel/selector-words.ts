/** Describes the sentinels that a pin or a rollout takes: in the same words on the command line, in the console and in refusals. */
import { someOf } from "./nearest.ts";

type Selector = {
  ids?: readonly string[] | undefined;
  regions?: readonly string[] | undefined;
  labels?: Readonly<Record<string, string>> | undefined;
};

/** "gw-7, gw-8; in eu; tier=canary": of a long list the first names. */
export function whichOf({ ids = [], regions = [], labels = {} }: Selector): string {
  const where = regions.length === 0 ? "" : `in ${someOf(regions, 5)}`;
  return [someOf(ids, 5), where, labelWords(labels)].filter((words) => words !== "").join("; ");
}

/** "tier=canary, kernel=5". */
export function labelWords(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
}
