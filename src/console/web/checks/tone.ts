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
