import { bareAddress } from "#kernel/address.ts";

/**
 * Whom a gateway asks for: the first address it forwards, without its port; the gateway itself when
 * it forwards none. Only who has a root key that verifies gets here, and is believed.
 */
export function clientAddress(forwardedFor: string | string[] | undefined, own: string): string {
  const first = String(forwardedFor ?? "").split(",", 1)[0] ?? "";
  return bareAddress(first.trim()) || own;
}
