/** Leaves out what a later version of control may send: checks of kinds that this version does not know. */
import { cleanText } from "#kernel/clean-text.ts";
import { checkKinds } from "#monitor/kinds/contract.ts";

/** The answer without those checks, and their kinds. What is no answer of control stays as it is. */
export function splitByKind(answer: unknown): { known: unknown; unknownKinds: string[] } {
  const { checks } = (answer ?? {}) as { checks?: unknown };
  if (!Array.isArray(checks)) return { known: answer, unknownKinds: [] };
  const unknown = new Set<string>();
  const known = checks.filter((check: { kind?: unknown } | null) => {
    const kind = check?.kind;
    if (typeof kind !== "string" || checkKinds.some((one) => one === kind)) return true;
    if (unknown.size < maxNamedKinds) unknown.add(cleanText(kind, 20));
    return false;
  });
  return { known: { ...(answer as object), checks: known }, unknownKinds: [...unknown].sort() };
}

/** More are not named. */
const maxNamedKinds = 20;
