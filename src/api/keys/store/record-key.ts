import type { Change } from "#api/changes/change.ts";

/** An audit entry of one key. */
export function recordKey(
  change: Change,
  event: "key.update" | "key.delete",
  of: { id: string; description: string },
): void {
  const { id, description } = of;
  change.record({ event, description, targets: [{ type: "key", id }] });
}
