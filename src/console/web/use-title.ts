import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** What the page that is shown calls itself; undefined: as its route does. */
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
