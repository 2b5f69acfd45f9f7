import { bareAddress } from "#kernel/address.ts";

/**
 * The address of a gateway's client: the first one that it forwards, without its port; the gateway's own
 * when it forwards none. It is trusted, since only callers with a valid root key get here.
 */
export function clientAddress(forwardedFor: string | string[] | undefined, own: string): string {
  const first = String(forwardedFor ?? "").split(",", 1)[0] ?? "";
  return bareAddress(first.trim()) || own;
}
