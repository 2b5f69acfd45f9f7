import type { AlertChannel } from "#monitor/contract.ts";

/** The webhook channels, one per environment, by their numbers at the hosted monitor. */
export const channels: readonly AlertChannel[] = [
  { name: "production", id: 218874, sendFailure: true, sendRecovery: true, sendDegraded: false },
  { name: "staging", id: 273211, sendFailure: true, sendRecovery: true, sendDegraded: false },
];
