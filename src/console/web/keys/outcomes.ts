/** Outcomes of verifications, each with its own colour. Other outcomes count in the totals only. */
export const outcomes = [
  { name: "VALID", label: "valid", colour: "--good-fill" },
  { name: "RATE_LIMITED", label: "rate limited", colour: "--warn-fill" },
  { name: "USAGE_EXCEEDED", label: "no credits left", colour: "--calm-fill" },
  { name: "INSUFFICIENT_PERMISSIONS", label: "not permitted", colour: "--info-fill" },
  { name: "FORBIDDEN", label: "forbidden", colour: "--bad-fill" },
  { name: "DISABLED", label: "disabled", colour: "--mute-fill" },
  { name: "EXPIRED", label: "expired", colour: "--line-strong" },
  { name: "NOT_FOUND", label: "not found", colour: "--accent" },
] as const;

export function totalOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, n) => sum + n, 0);
}
