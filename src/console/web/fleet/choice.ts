import { signal } from "@preact/signals";

/** The sentinel under the pointer or the keyboard's focus, and its position in the window. */
export const pointed = signal<
  { index: number; left: number; top: number; bottom: number } | undefined
>(undefined);

/** The sentinel whose details are shown. */
export const picked = signal<number | undefined>(undefined);
