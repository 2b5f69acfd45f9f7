import { signal } from "@preact/signals";
import type { Session } from "#console/contract.ts";

/** undefined: not read yet; null: not signed in. */
export const session = signal<Session | null | undefined>(undefined);
