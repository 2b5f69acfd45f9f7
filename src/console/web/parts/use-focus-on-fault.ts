import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** The form, whose first refused field gets the focus once for each refusal; a folded group with it is unfolded. */
export function useFocusOnFault(faults: object): RefObject<HTMLFormElement | null> {
  const form = useRef<HTMLFormElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each refusal
  useLayoutEffect(() => {
    const field = form.current?.querySelector<HTMLElement>("[aria-invalid]");
    field?.closest("details")?.setAttribute("open", "");
    field?.focus();
  }, [faults]);
  return form;
}
