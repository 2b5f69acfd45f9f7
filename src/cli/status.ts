/** `vedette status`: everything that the person on call asks first, on one screen. */
import { styleText } from "node:util";
import { formatSpan, formatUtc } from "#kernel/time.ts";
import { checkWords, stateWords } from "#kernel/words.ts";
import { type StatusView, statusHandlers, statusReads } from "#status/contract.ts";
import { connect } from "./connection.ts";
import type { GlobalOptions } from "./options.ts";
import { printAnswer } from "./print.ts";
import { createTable, plain } from "./table.ts";

/** Exit code 0: nothing is wrong; 2: something is. */
export async function showStatus(options: GlobalOptions): Promise<number> {
  const { output } = statusHandlers.Read;
  const status = await connect(options).call(`${statusReads.name}/Read`, {}, output);
  printAnswer(status, options.json, () => reportStatus(status));
  return status.wrong.length === 0 ? 0 : 2;
}

function reportStatus({ wrong, fleets, checks, alerts, taken_at }: StatusView): string {
  const count = wrong.length === 1 ? "1 thing is wrong" : `${wrong.length} things are wrong`;
  const head = wrong.length === 0 ? "Nothing is wrong" : count;
  const colour = wrong.length === 0 ? "green" : "red";
  const table = createTable(["fleet", "rollout", "sentinels", "down", "unknown", "list read"]);
  for (const { name, rollout, overview } of fleets) {
    const { total, unhealthy, choices, list } = overview;
    const unknown = choices.health.find(({ value }) => value === "unknown")?.count ?? 0;
    const isOld = wrong.some(({ about, fleet }) => about === "fleet_list" && fleet === name);
    const counts = isOld ? ["not known", total] : [unhealthy, unknown];
    const read = list.asked_at === null ? "never" : `${formatSpan(list.asked_at, taken_at)} ago`;
    table.push([name, rolloutWords(rollout), total, ...counts, read]);
  }
  const counts = Object.entries(checks).map(
    ([status, number]) => `${number} ${checkWords[status as keyof typeof checkWords]}`,
  );
  return [
    `${styleText(colour, head, { stream: process.stdout })} (${formatUtc(taken_at)})`,
    ...wrong.flatMap(({ text, next }) => [`  ${plain(text)}`, `    npx ${plain(next)}`]),
    "",
    String(table),
    "",
    `checks: ${counts.join(", ")}; open alerts: ${alerts.length}`,
  ].join("\n");
}

function rolloutWords(rollout: StatusView["fleets"][number]["rollout"]): string {
  const { state, outcome, current_wave: wave, total_waves: waves } = rollout;
  const words = plain(stateWords(rollout));
  return state === "idle" || outcome != null ? words : `${words}, wave ${wave} of ${waves}`;
}
