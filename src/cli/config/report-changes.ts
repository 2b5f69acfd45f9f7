import { createTable, plain } from "#cli/table.ts";
import type { Change, PlanAnswer } from "#definitions/contract.ts";
import { someOf } from "#kernel/text.ts";

type Changes = { revision: number; changes: readonly Change[] };

const words: Record<Change["kind"], { plan: string; apply: string }> = {
  add: { plan: "add", apply: "added" },
  change: { plan: "change", apply: "changed" },
  remove: { plan: "remove", apply: "removed" },
  leave: { plan: "leave", apply: "left" },
};

export function describeChanges({ revision, changes }: Changes, of: "plan" | "apply"): string {
  if (changes.length === 0) return `Revision ${revision} is as the file says: nothing to change.`;
  const table = createTable(["", "row", "fields"]);
  for (const { section, key, kind, fields = [] } of changes) {
    table.push([words[kind][of], plain(`${section}.${key}`), fields.join(", ")]);
  }
  const left = changes.filter(({ kind }) => kind === "leave").length;
  const hint = `${left} ${left === 1 ? "row" : "rows"} of the program, which the file lacks: --prune removes them.`;
  return [String(table), summaryOf({ revision, changes }, of), ...(left > 0 ? [hint] : [])].join(
    "\n",
  );
}

function summaryOf({ revision, changes }: Changes, of: "plan" | "apply"): string {
  const count = (kind: Change["kind"]) => changes.filter((change) => change.kind === kind).length;
  const numbers = `${count("add")} to add, ${count("change")} to change, ${count("remove")} to remove`;
  return of === "plan"
    ? `Against revision ${revision}: ${numbers}.`
    : `Revision ${revision} is in force.`;
}

/** A line for each cause; nothing without warnings. */
export function describeWarnings({ warnings }: Pick<PlanAnswer, "warnings">): string[] {
  const causes = Map.groupBy(warnings, ({ message, key }) => message.replaceAll(key, "<id>"));
  return [...causes].map(([cause, found]) => {
    const [only] = found;
    const names = found.map(({ section, key }) => `${section}.${key}`);
    const message = found.length === 1 && only !== undefined ? only.message : cause;
    return plain(`warning: ${someOf(names, 5)}: ${message}`);
  });
}
