/** Which sentinel someone looks at. */
import { signal } from "@preact/signals";

/** Under the pointer or the keyboard's focus, and where that is in the window. */
export const pointed = signal<
  { index: number; left: number; top: number; bottom: number } | undefined
>(undefined);

/** Asked for in detail. */
export const picked = signal<number | undefined>(undefined);
