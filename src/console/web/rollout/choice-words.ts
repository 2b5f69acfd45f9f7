/** What a rollout takes and in which order, in words. Pure. */
import { someOf } from "#kernel/nearest.ts";
import { labelWords, whichOf } from "#kernel/selector-words.ts";
import type { Choice } from "#rollout/choice/contract.ts";

type Fact = readonly [name: string, words: string];

/** Only what the request or the settings say. */
export function choiceFacts(choice: Choice): Fact[] {
  const { canary_labels: canaries, regions, exclude = [] } = choice;
  const { max_per_region: perRegion, max_unavailable: unavailable } = choice;
  const facts: [string, string | undefined][] = [
    ["Canaries first", canaries && labelWords(canaries)],
    ["Order of regions", regions && someOf(regions, 5)],
    ["Only these", choice.only && whichOf(choice.only)],
    ["Cap per region", perRegion === undefined ? undefined : `${perRegion} in a wave`],
    ["Unavailable at most", unavailable === undefined ? undefined : String(unavailable)],
    ["Excluded", exclude.length === 0 ? undefined : exclude.map(exclusionWords).join(" · ")],
  ];
  return facts.filter((fact): fact is [string, string] => fact[1] !== undefined);
}

function exclusionWords({ reason, ...which }: NonNullable<Choice["exclude"]>[number]): string {
  return reason === undefined ? whichOf(which) : `${whichOf(which)} (${reason})`;
}

/** All of it on one line; empty: every sentinel, every region in proportion. */
export function choiceLine(choice: Choice): string {
  return choiceFacts(choice)
    .map(([name, words]) => `${name}: ${words}`)
    .join("; ");
}
