import type { SentinelMark } from "./contract.ts";

type OutcomeMark = Extract<SentinelMark, "s" | "f" | "r" | "n" | "l">;

/** The mark of each outcome that history records; for server and page. */
export const outcomeMarks: Readonly<Record<string, OutcomeMark>> = {
  succeeded: "s",
  failed: "f",
  reverted: "r",
  not_reverted: "n",
  left_out: "l",
};
