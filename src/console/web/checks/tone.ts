import type { Tone } from "#console/web/parts/mark.tsx";
import type { CheckView } from "#monitor/results/contract.ts";

const tones: Record<CheckView["status"], Tone> = {
  ok: "good",
  degraded: "warn",
  failed: "bad",
  late: "warn",
  silent: "calm",
  paused: "mute",
  pending: "mute",
};

export function toneOfCheck(status: CheckView["status"]): Tone {
  return tones[status];
}

const words: Record<CheckView["status"], string> = {
  ok: "OK",
  degraded: "Degraded",
  failed: "Failed",
  late: "Late",
  silent: "Silent",
  paused: "Off",
  pending: "Waiting",
};

export function statusWord(status: CheckView["status"]): string {
  return words[status];
}

/** The order of the list: the worst first. */
const order: CheckView["status"][] = [
  "failed",
  "silent",
  "late",
  "degraded",
  "ok",
  "pending",
  "paused",
];

export function byUrgency(a: CheckView, b: CheckView): number {
  return order.indexOf(a.status) - order.indexOf(b.status) || a.name.localeCompare(b.name);
}
