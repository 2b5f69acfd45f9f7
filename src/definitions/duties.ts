/** How to replace invocations of the definitions that another version of the program began. */
import { type Duties, dutiesOf } from "#kernel/duty.ts";
import { definitionsObject } from "./internal.ts";

export const definitionsDuties: Duties = dutiesOf(definitionsObject, {
  // The caller gets an error and may repeat it; what it wrote is told to the checks.
  Apply: { restoredBy: "finish" },
  start: { restoredBy: "finish" },
  finish: { isCalledAgain: true },
});

export const definitionsServices: readonly string[] = [definitionsObject.name];
