/** Finds what cannot be written as JSON: rows are data, which is compared, stored and sent. */
import type { Path } from "#definitions/file/offsets.ts";
import type { Unfit } from "./result.ts";

const mostFaults = 100;
const deepest = 100;

/** Empty: it is plain data. A field that is undefined counts as absent. */
export function findUnfit(value: unknown): Unfit[] {
  const found: Unfit[] = [];
  visit(value, [], { found, around: new Set() });
  return found;
}

type Walk = { found: Unfit[]; around: Set<object> };

function visit(value: unknown, path: Path, walk: Walk): void {
  if (walk.found.length >= mostFaults) return;
  const what = whatIsUnfit(value, path, walk);
  if (what !== undefined) {
    walk.found.push({ path, what });
    return;
  }
  if (typeof value !== "object" || value === null) return;
  walk.around.add(value);
  for (const [key, entry] of entriesOf(value)) visit(entry, [...path, key], walk);
  walk.around.delete(value);
}

function whatIsUnfit(value: unknown, path: Path, { around }: Walk): string | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : "no finite number";
  if (typeof value === "object" && value !== null) {
    if (around.has(value)) return "in a circle: it contains itself";
    return path.length > deepest ? `nested deeper than ${deepest}` : classOf(value);
  }
  if (typeof value === "undefined") return "undefined";
  const isFit = value === null || typeof value === "string" || typeof value === "boolean";
  return isFit ? undefined : `a ${typeof value}`;
}

function classOf(value: object): string | undefined {
  if (Array.isArray(value)) return undefined;
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype === null || prototype === Object.prototype) return undefined;
  return `an instance of ${prototype.constructor?.name || "a class"}`;
}

function entriesOf(value: object): [string | number, unknown][] {
  if (Array.isArray(value)) return value.map((entry, index) => [index, entry]);
  return Object.entries(value).filter(([, entry]) => entry !== undefined);
}
