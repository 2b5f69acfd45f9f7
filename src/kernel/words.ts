/** The words for states and callers: the same on the command line, in the console, in chat and on public pages. */
import { shortenImage } from "./image-reference.ts";
import { someOf } from "./text.ts";
import { formatSpan, formatUtc } from "./time.ts";

export const checkWords = {
  ok: "ok",
  degraded: "degraded",
  failed: "failed",
  late: "late",
  silent: "silent",
  pending: "waiting",
  paused: "off",
} as const;

/** Describes the state of an alert event's delivery. */
export function eventWords(status: string): string {
  return status === "dead" ? "dead letter" : status.replace("_", " ");
}

const evidenceResults = {
  passed: "passed",
  failed: "failed",
  pending: "not ended",
  missing: "missing",
  unverifiable: "not verifiable",
  unavailable: "could not be asked",
} as const;

type Evidence = { result: keyof typeof evidenceResults; passes: boolean };

/** Describes the evidence that an image has passed CI. */
export function evidenceWords({ result, passes }: Evidence): string {
  const isLetPass = passes && result !== "passed";
  return `${evidenceResults[result]}${isLetPass ? ", which the settings let pass" : ""}`;
}

type Stand = {
  state: string;
  outcome?: string | null | undefined;
  paused?: { by: string; at: string } | undefined;
};

/** Describes a rollout's state or outcome. One that was rolled back is in the state `cancelled`, too. */
export function stateWords({ state, outcome, paused }: Stand): string {
  if (state === "idle") return "no rollout yet";
  if (paused) return `${state} by ${callerWords(paused.by)} at ${formatUtc(paused.at)}`;
  return (outcome === "rolled_back" ? outcome : state).replace("_", " ");
}

/** Callers that are nobody in particular, by the names that are recorded. */
const impersonal = new Map([
  ["ingress-token", "the ingress token (no operator)"],
  ["local-caller", "a caller on this machine (no operator)"],
  ["restate-console", "the Restate console (no operator)"],
  ["reconciler", "the reconciler (fleet.on_drift)"],
  ["console", "the console itself"],
  ["on_failure", "on_failure"],
  ["watch_for", "watch_for"],
]);

export function isPersonal(name: string): boolean {
  return !impersonal.has(name);
}

/** Names a caller, to follow "by". A name in brackets was given by a caller with the ingress token. */
export function callerWords(name: string): string {
  return impersonal.get(name) ?? name.replace(/^ingress-token(?= \()/, "the ingress token");
}

type StarterRun = {
  workflow?: string | undefined;
  run?: string | undefined;
  commit?: string | undefined;
};

/** Names who has started a rollout, of a job of CI with its run: "ci:github:acme/shop (run 42 of rollout.yml, commit 1a2b3c4)". */
export function starterWords(name: string, run?: StarterRun): string {
  if (run === undefined) return callerWords(name);
  const { workflow, run: id, commit } = run;
  const file = workflow?.split("/").at(-1);
  const parts = [
    ...(id === undefined ? [] : [`run ${id}${file === undefined ? "" : ` of ${file}`}`]),
    ...(commit === undefined ? [] : [`commit ${commit.slice(0, 7)}`]),
  ];
  return parts.length === 0 ? callerWords(name) : `${callerWords(name)} (${parts.join(", ")})`;
}

type Check = { status: keyof typeof checkWords; missing_settings?: string[] | undefined };

/** Says why a check is off, with the settings that it lacks; undefined: it is not off. */
export function offWords({ status, missing_settings: missing = [] }: Check): string | undefined {
  if (missing.length > 0) return `off: set ${missing.join(" and ")}`;
  // It has just got them.
  return status === "paused" ? "off until its next run" : undefined;
}

/** Says how a rollout goes on at the end of a wait or of a gate's time: "It pauses". */
export const timeoutWords = {
  continue: "continues",
  pause: "pauses",
  rollback: "rolls back",
} as const;

type ServedVersion = { serves: number; unfinished: Readonly<Record<string, number>> };

/** Says if a version of the program serves, and counts what it has started and that has not ended. */
export function versionWords({ serves, unfinished }: ServedVersion): {
  state: string;
  left: number;
} {
  const left = Object.values(unfinished).reduce((sum, count) => sum + count, 0);
  if (serves > 0) return { state: `serves ${serves} services`, left };
  return { state: left > 0 ? "drains" : "drained", left };
}

type AlertRollout = { image: string; wave: number; ended_at?: string | number | undefined };

export function rolloutOfAlert(
  { image, wave, ended_at }: AlertRollout,
  openedAt: string | number,
): string {
  const of = `the rollout of ${shortenImage(image)}`;
  if (ended_at === undefined) return `during wave ${wave} of ${of}`;
  return `${of} had ended ${formatSpan(ended_at, openedAt)} before`;
}

/** The likeliest cause of an alert, and how many others there may be. One line; not for an empty list. */
export function suspectWords(changes: readonly { text: string; score: number }[]): string {
  const [first, ...others] = changes;
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  return `${Math.round(100 * (first?.score ?? 0))} %: ${first?.text ?? ""}${more}`;
}

/** The first letter large. */
export function capitalize(text: string): string {
  return text === "ok" ? "OK" : text.charAt(0).toUpperCase() + text.slice(1);
}

type Selector = {
  whole_fleet?: true | undefined;
  ids?: readonly string[] | undefined;
  regions?: readonly string[] | undefined;
  labels?: Readonly<Record<string, string>> | undefined;
};

/** "gw-7, gw-8; in eu; tier=canary": of a long list the first names. */
export function whichOf({ whole_fleet, ids = [], regions = [], labels = {} }: Selector): string {
  if (whole_fleet === true) return "the whole fleet";
  const where = regions.length === 0 ? "" : `in ${someOf(regions, 5)}`;
  return [someOf(ids, 5), where, labelWords(labels)].filter((words) => words !== "").join("; ");
}

/** "tier=canary, kernel=5". */
export function labelWords(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
}
