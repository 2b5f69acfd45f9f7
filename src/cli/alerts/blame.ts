/** `vedette alerts blame`: what changed before an alert opened, as it was ranked then. */
import type { SuspectView } from "#blame/contract.ts";
import { connect } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { printAnswer } from "#cli/print.ts";
import { createTable, plain } from "#cli/table.ts";
import { formatUtc } from "#kernel/time.ts";
import { callerWords } from "#kernel/words.ts";
import type { CheckEpisode } from "#monitor/results/contract.ts";

type BlameOptions = GlobalOptions & { episode?: number };

/** The most alerts among which an earlier one is looked for. */
const mostAlerts = 1_000;

export async function showBlame(check: string, options: BlameOptions): Promise<number> {
  const { episode: wanted, json } = options;
  const limit = wanted === undefined ? 1 : mostAlerts;
  const { episodes } = await connect(options).checks("Episodes", { check, limit });
  const alert = episodes.find(({ episode }) => wanted === undefined || episode === wanted);
  if (alert === undefined) {
    const which = wanted === undefined ? "no alert" : `no alert ${wanted} among its last ${limit}`;
    throw new Error(`${check} has ${which}: \`vedette checks history ${check}\` lists them`);
  }
  return printAnswer(alert, json, reportBlame);
}

function reportBlame(alert: CheckEpisode): string {
  const { check_id, episode, opened_at, reason, changes } = alert;
  const title = `${check_id} #${episode}, ${formatUtc(opened_at)}: ${plain(reason)}`;
  if (changes === undefined) return `${title}\nWhat changed before was not found out in time.`;
  if (changes.length === 0) return `${title}\nNothing that changed in the day before fits.`;
  return `${title}\n${tableOf(changes)}`;
}

function tableOf(changes: readonly SuspectView[]): string {
  const table = createTable(["score", "at", "kind", "by", "why"]);
  for (const { score, at, kind, who, text } of changes) {
    const by = who === null ? "" : plain(callerWords(who));
    table.push([`${Math.round(100 * score)} %`, formatUtc(at), kind, by, plain(text)]);
  }
  return String(table);
}
