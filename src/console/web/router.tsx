/** Addresses within the console, and links that change them without a reload. */
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { fleetQuery } from "./chosen-fleet.ts";

const base = "/console";

function here(): string {
  return location.pathname.slice(base.length).replace(/\/$/, "") || "/";
}

/** The path below `/console`, `/` for the first page. */
export const path = signal(here());

addEventListener("popstate", () => {
  path.value = here();
});

/** The fleet stays the same from page to page. */
function addressOf(to: string): string {
  return `${base}${to === "/" ? "" : to}${fleetQuery()}`;
}

export function go(to: string): void {
  history.pushState(null, "", addressOf(to));
  path.value = to;
  scrollTo(0, 0);
  document.getElementById("main")?.focus();
}

export function Link(props: {
  to: string;
  class?: string;
  current?: boolean;
  children: ComponentChildren;
}) {
  const follow = (event: MouseEvent) => {
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey;
    if (!isPlain) return;
    event.preventDefault();
    go(props.to);
  };
  return (
    <a
      href={addressOf(props.to)}
      class={props.class}
      aria-current={props.current ? "page" : undefined}
      onClick={follow}
    >
      {props.children}
    </a>
  );
}
