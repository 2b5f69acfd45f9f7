import { signal } from "@preact/signals";
import type { Session } from "#console/contract.ts";

/** undefined: not read yet; null: not signed in. */
export const session = signal<Session | null | undefined>(undefined);

/** The tabs of one browser share its session: a page that changes it tells the others. */
const tabs = new BroadcastChannel("vedette.session");

export function tellOtherTabs(): void {
  tabs.postMessage("read the session again");
}

/** Calls back when another tab may have changed the session. Returns a function that stops this. */
export function onOtherTab(callback: () => void): () => void {
  tabs.addEventListener("message", callback);
  return () => tabs.removeEventListener("message", callback);
}
