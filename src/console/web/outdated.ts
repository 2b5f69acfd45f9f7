/** A page that stays open over an upgrade: it loads the new one by itself, unless that would take something away. */
import { signal } from "@preact/signals";

/** Whether the server has another build of this page, which is not loaded by itself. */
export const isOutdated = signal(false);

const storeKey = "vedette.reloaded-for";

/** To be called with the build of the page that the server has. */
export function noteBuild(theirs: string): void {
  const own = document.querySelector<HTMLMetaElement>('meta[name="build"]')?.content;
  const reloadedFor = sessionStorage.getItem(storeKey);
  const next = whatNext({ own, theirs, reloadedFor, isBusy: isBusy() });
  isOutdated.value = next === "tell";
  if (next !== "reload") return;
  sessionStorage.setItem(storeKey, theirs);
  location.reload();
}

type Builds = {
  own: string | undefined;
  theirs: string;
  /** The one for which this tab was loaded again before. */
  reloadedFor: string | null;
  isBusy: boolean;
};

/** Once for each build: behind one address there may be servers of two versions, or a cache. Pure. */
export function whatNext({ own, theirs, reloadedFor, isBusy }: Builds): "stay" | "reload" | "tell" {
  if (own === undefined || own === theirs) return "stay";
  return isBusy || reloadedFor === theirs ? "tell" : "reload";
}

/** Whether somebody types, or is asked something. */
function isBusy(): boolean {
  // Beside its form also the plan, which was asked for.
  if (location.pathname === "/console/start") return true;
  if (document.querySelector("form, dialog[open]") !== null) return true;
  return document.activeElement?.matches("input, textarea, select") ?? false;
}
