/** Leaves out what a later version of control may send: checks of kinds, and ways to start TLS, that this version does not know. */
import { cleanText } from "#kernel/clean-text.ts";
import { checkKinds, startTlsProtocols } from "#monitor/kinds/contract.ts";

/** The answer without those checks, and their kinds. What is no answer of control stays as it is. */
export function splitByKind(answer: unknown): { known: unknown; unknownKinds: string[] } {
  const { checks } = (answer ?? {}) as { checks?: unknown };
  if (!Array.isArray(checks)) return { known: answer, unknownKinds: [] };
  const unknown = new Set<string>();
  const known = checks.filter((check: { kind?: unknown; starttls?: unknown } | null) => {
    const kind =
      findUnknown(check?.kind, checkKinds) ?? findUnknown(check?.starttls, startTlsProtocols);
    if (kind !== undefined && unknown.size < maxNamedKinds) unknown.add(cleanText(kind, 20));
    return kind === undefined;
  });
  return { known: { ...(answer as object), checks: known }, unknownKinds: [...unknown].sort() };
}

/** The word, if it is one that is not known. */
function findUnknown(word: unknown, known: readonly string[]): string | undefined {
  return typeof word === "string" && !known.includes(word) ? word : undefined;
}

/** More are not named. */
const maxNamedKinds = 20;
