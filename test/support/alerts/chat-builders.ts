import type { Notice } from "#alerts/contract.ts";

/** A message with everything in it, and `changes` to it. */
export function buildNotice(changes: Partial<Notice> = {}): Notice {
  return {
    id: "r-1#1",
    title: "Wave started",
    tone: "info",
    lines: ["Wave 1 of 5: 3 sentinels."],
    fields: [{ name: "Image", value: "registry.example.com/vedette/sentinel:v2" }],
    ...changes,
  };
}
