/** A page that stays open over an upgrade: it loads the new one by itself, unless that would take something away. */
import { signal } from "@preact/signals";

/** True if the server has another build of this page, which is not loaded by itself. */
export const isOutdated = signal(false);

const storeKey = "vedette.reloaded-for";

/** Compares this page with the build that the server has, and loads that one, or says that there is one. */
export function noteBuild(theirs: string): void {
  const own = document.querySelector<HTMLMetaElement>('meta[name="build"]')?.content;
  const key = `${storeKey}.${theirs}`;
  const wasReloaded = sessionStorage.getItem(key) !== null;
  const next = whatNext({ own, theirs, wasReloaded, isBusy: isBusy() });
  isOutdated.value = next === "tell";
  if (next !== "reload") return;
  sessionStorage.setItem(key, "yes");
  location.reload();
}

type Builds = {
  own: string | undefined;
  theirs: string;
  /** True if this tab was loaded again for it before. */
  wasReloaded: boolean;
  isBusy: boolean;
};

/** Once for each build: behind one address there may be servers of two versions, or a cache. Pure. */
export function whatNext({ own, theirs, wasReloaded, isBusy }: Builds): "stay" | "reload" | "tell" {
  if (own === undefined || own === theirs) return "stay";
  return isBusy || wasReloaded ? "tell" : "reload";
}

/** True if somebody types, or is asked something. */
function isBusy(): boolean {
  // The page of a new rollout also has the plan that was asked for, beside its form.
  if (location.pathname === "/console/start") return true;
  if (document.querySelector("form, dialog[open]") !== null) return true;
  return document.activeElement?.matches("input, textarea, select") ?? false;
}
