/** The images that the form of a rollout offers, and what is known of the one that was typed. Pure. */
import { count, sentinels } from "#console/web/format.ts";
import { when } from "#console/web/times.ts";
import { isSameImage } from "#kernel/image-reference.ts";
import type { SeenImage } from "#rollout/history/contract.ts";

/** `text`: what the field has once it is chosen; `isStart`: a tag is still to be typed. */
export type Suggestion = { text: string; note: string; isStart: boolean };

/** Images that contain every word, in order; first a repository, for a new tag, while the text is not longer. */
export function suggest(text: string, images: readonly SeenImage[]): Suggestion[] {
  const words = text.toLowerCase().split(/\s+/);
  const fits = (name: string) => words.every((word) => name.toLowerCase().includes(word));
  const starts = repositoriesOf(images)
    .map((repository) => `${repository}:`)
    .filter((start) => fits(start) && start !== text)
    .map((start) => ({ text: start, note: "a new tag of it", isStart: true }));
  const seen = images
    .filter(({ image }) => fits(image) && image !== text)
    .map((image) => ({ text: image.image, note: noteOf(image), isStart: false }));
  return [...starts, ...seen];
}

/** The repositories in the order of their newest image. */
function repositoriesOf(images: readonly SeenImage[]): string[] {
  return [...new Set(images.map(({ image }) => repositoryOf(image)))];
}

const outcomes: Record<string, string> = {
  completed: "completed",
  cancelled: "cancelled",
  rolled_back: "rolled back",
};

/** "runs on 29 sentinels; rolled out 12 Nov, 10:00, completed". */
export function noteOf({ running, rollout }: SeenImage): string {
  const runs = running > 0 ? [`runs on ${sentinels(running)}`] : [];
  if (rollout === null) return runs[0] ?? "ran before";
  const end = outcomes[rollout.outcome ?? ""] ?? rollout.state.replaceAll("_", " ");
  const failed = rollout.failed > 0 ? `, ${count(rollout.failed)} failed` : "";
  return [...runs, `rolled out ${when(rollout.started_at)}, ${end}${failed}`].join("; ");
}

/** The words about the typed image; undefined: there are none yet, because it is no whole one. */
export function sightOf(
  text: string,
  images: readonly SeenImage[],
): { isSeen: boolean; words: string } | undefined {
  const typed = text.trim();
  const repository = repositoryOf(typed);
  if (typed.replace(/[:@]$/, "") === repository) return undefined;
  const found = images.find(({ image }) => isSameImage(image, typed));
  if (found !== undefined) return { isSeen: true, words: `Seen before: ${noteOf(found)}.` };
  const isKnown = images.some(({ image }) => repositoryOf(image) === repository);
  const which = isKnown ? "Other tags of this repository were." : "Nor was its repository.";
  return { isSeen: false, words: `This image was never seen in this fleet. ${which}` };
}

/** The name without tag and digest. */
function repositoryOf(image: string): string {
  return image.replace(/@.*$/, "").replace(/:[^/]*$/, "");
}
