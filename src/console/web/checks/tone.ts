import type { Tone } from "#console/web/parts/mark.tsx";
import type { CheckView } from "#monitor/results/contract.ts";

export const checkTones: Record<CheckView["status"], Tone> = {
  ok: "good",
  degraded: "warn",
  failed: "bad",
  late: "warn",
  silent: "calm",
  paused: "mute",
  pending: "mute",
};

/** The order of the list: the worst first. */
const order = "failed silent late degraded ok pending paused".split(" ");

export function byUrgency(a: CheckView, b: CheckView): number {
  return order.indexOf(a.status) - order.indexOf(b.status) || a.name.localeCompare(b.name);
}
