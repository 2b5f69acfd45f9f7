/** Describes the images that a rollout's sentinels run now, in the same words for chat, console and command line. Pure. */
import { compareImages, parseImageReference, shortenImage } from "#kernel/image-reference.ts";
import { someOf } from "#kernel/text.ts";
import type { StandingPart } from "#rollout/contract.ts";
import type { RolloutHead } from "#rollout/state.ts";

type Standing = Pick<RolloutHead, "image" | "total" | "succeeded" | "failed"> &
  Partial<Pick<RolloutHead, "previousImage" | "serving">> & { inFlight: number };

/** The number of named sentinels that serve nothing; the rest is a number. */
const namedDown = 5;

/** Describes the fleet as of now; empty before the fleet is known. */
export function standingOf(head: RolloutHead): StandingPart[] {
  const open = Object.values(head.openBatches);
  const inFlight = open.reduce((sum, batch) => sum + batch.inFlight, 0);
  return describeStanding({ ...head, serving: head.serving ?? {}, inFlight });
}

/** One sentence for each group of sentinels. Without `serving` the failed ones are counted alone. */
export function describeStanding(of: Standing): StandingPart[] {
  const { image, total, succeeded, failed, inFlight, previousImage } = of;
  if (total === 0) return [];
  const nameOf = namesIn(of);
  const rest = Math.max(0, total - succeeded - failed - inFlight);
  const before = previousImage
    ? nameOf(previousImage)
    : numbered(rest, ["its previous image", "their previous images"]);
  return [
    part(`${succeeded} of ${total} ${numbered(succeeded, ["runs", "run"])} ${nameOf(image)}`),
    ...failedParts(of, nameOf),
    ...(inFlight > 0 ? [part(`${inFlight} in flight`)] : []),
    ...(rest > 0 ? [part(`${rest} ${numbered(rest, ["runs", "run"])} ${before}`)] : []),
  ];
}

function failedParts({ image, failed, serving }: Standing, nameOf: NameOf): StandingPart[] {
  if (failed === 0) return [];
  if (serving === undefined) return [part(`${failed} failed`)];
  const groups = Map.groupBy(Object.keys(serving), (id) => nameOf(serving[id] ?? ""));
  const unknown = failed - Object.keys(serving).length;
  const parts = [...groups].map(([name, ids]) => {
    const serve = numbered(ids.length, ["serves", "serve"]);
    if (name === "") return down(`${ids.length} failed and ${serve} nothing`, ids);
    if (name !== nameOf(image)) return part(`${ids.length} failed and still ${serve} ${name}`);
    return { ...part(`${ids.length} failed and ${serve} ${name}`), failed_on_image: ids.length };
  });
  const unsaid = numbered(unknown, ["it serves", "they serve"]);
  const open = part(`${unknown} failed, and whether ${unsaid} is not known`);
  return [...parts.sort((a, b) => a.down - b.down), ...(unknown > 0 ? [open] : [])];
}

function down(brief: string, ids: readonly string[]): StandingPart {
  return {
    text: `${brief}: ${someOf(ids, namedDown)}.`,
    brief,
    down: ids.length,
    failed_on_image: 0,
  };
}

function part(brief: string): StandingPart {
  return { text: `${brief}.`, brief, down: 0, failed_on_image: 0 };
}

function numbered(count: number, [one, many]: [string, string]): string {
  return count === 1 ? one : many;
}

type NameOf = (image: string) => string;

/** Tags where they tell the images apart, else whole names; other spellings of an image have its name. */
function namesIn({ image, previousImage = "", serving = {} }: Standing): NameOf {
  const known = [image, previousImage];
  const spell: NameOf = (one) => known.find((name) => compareImages(name, one) !== "other") ?? one;
  const all = new Set([...known, ...Object.values(serving)].map(spell));
  all.delete("");
  const references = [...all].map(parseImageReference);
  const tags = new Set(references.flatMap((one) => one?.tag ?? []));
  const isOneRepository = new Set(references.map((one) => one?.repository)).size === 1;
  const hasTags = isOneRepository && tags.size === all.size;
  return (one) => {
    const whole = spell(one);
    return (hasTags ? parseImageReference(whole)?.tag : undefined) ?? shortenImage(whole);
  };
}
