import { signal } from "@preact/signals";
import type { Session } from "#console/contract.ts";

/** undefined: not read yet; null: not signed in. */
export const session = signal<Session | null | undefined>(undefined);

/** The tabs of one browser share its session: a page that changes it tells the others. */
const tabs = new BroadcastChannel("vedette.session");

export function notifyOtherTabs(): void {
  tabs.postMessage("read the session again");
}

/** Calls back when another tab may have changed the session. Returns a function that stops this. */
export function onOtherTab(callback: () => void): () => void {
  tabs.addEventListener("message", callback);
  return () => tabs.removeEventListener("message", callback);
}

let noted: string | undefined;

/** True if the address had a ticket. It is removed from there at once, so that it stays in no history of this tab. */
export function noteTicket(): boolean {
  const found = /^#ticket=([\w-]+)$/.exec(location.hash)?.[1];
  if (found === undefined) return false;
  noted = found;
  history.replaceState(history.state, "", `${location.pathname}${location.search}`);
  return true;
}

/** The ticket that this page was opened with; undefined: with none, or it was taken before. */
export function takeTicket(): string | undefined {
  const ticket = noted;
  noted = undefined;
  return ticket;
}

/** A link that is opened in a tab of the console only changes what is behind `#`. */
export function onTicket(listener: () => void): () => void {
  const hear = () => {
    if (noteTicket()) listener();
  };
  addEventListener("hashchange", hear);
  return () => removeEventListener("hashchange", hear);
}
