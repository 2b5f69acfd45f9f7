/** Links within the console, which change the address without a reload. */
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { addressOf, push } from "./address.ts";
import { withFleet } from "./chosen-fleet.ts";

export { path } from "./address.ts";

/** Leads to a path below `/console`, maybe with `?`. The fleet stays the same from page to page. */
export function go(to: string): void {
  push(withFleet(to));
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
      href={addressOf(withFleet(props.to))}
      class={props.class}
      aria-current={props.current ? "page" : undefined}
      onClick={follow}
    >
      {props.children}
    </a>
  );
}

/** The title that the shown page gives itself; undefined: it has that of its route. */
export const ownTitle = signal<string | undefined>(undefined);

/** The beginning of the document's title while the caller is shown, such as the name of a check. */
export function useTitle(text: string | undefined): void {
  useEffect(() => {
    ownTitle.value = text;
    return () => {
      if (ownTitle.peek() === text) ownTitle.value = undefined;
    };
  }, [text]);
}
