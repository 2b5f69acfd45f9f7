/** What only the operators of the chosen fleet are offered; whoever else may operate is told why it is missing. */
import type { ComponentChildren } from "preact";
import { chosenFleet } from "#console/web/chosen-fleet.ts";
import { may, mayRollOut } from "#console/web/may.ts";

export function ForOperators({ children }: { children: ComponentChildren }) {
  if (!may("operate")) return null;
  if (mayRollOut(chosenFleet.value)) return <>{children}</>;
  return <p class="quiet">The settings name other operators of this fleet.</p>;
}
