/** The roles of a process; on a laptop one process has all (docs/architecture.md, "The parts"). */
export const roles = ["worker", "control", "api"] as const;
export type Role = (typeof roles)[number];
