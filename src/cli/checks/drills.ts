/** `vedette drills`: the test alerts that are sent by a cron, or now. */
import { connect } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { print, printAnswer, printJson } from "#cli/print.ts";
import { plain } from "#cli/table.ts";
import { formatUtc } from "#kernel/time.ts";
import { drillHandlers, drillService, type StartedDrill } from "#monitor/drills/contract.ts";
import { drillsOf, reportDrills } from "./report-heartbeats.ts";

export async function listDrills(options: GlobalOptions): Promise<number> {
  const list = await connect(options).checks("List", {});
  const drills = drillsOf(list);
  if (options.json) printJson({ taken_at: list.taken_at, drills });
  else if (drills.length === 0) print("There are no drills: they are rows of the definitions.");
  else print(reportDrills(drills));
  return 0;
}

/** Ends when the drill has begun: its channels may have hours to confirm it. */
export async function runDrill(drill: string, options: GlobalOptions): Promise<number> {
  if (!/^[a-z0-9-]{1,100}$/.test(drill)) {
    throw new Error(`${drill} is not a drill: \`vedette drills list\` shows them`);
  }
  const { output } = drillHandlers.Run;
  const begun = await connect(options).call(`${drillService}/${drill}/Run`, {}, output);
  return printAnswer(begun, options.json, reportStarted);
}

function reportStarted({ drill, channels, due_at }: StartedDrill): string {
  const by = channels.map(plain).join(", ");
  return [
    `${drill} has begun: its test alert has to be accepted by ${by} until ${formatUtc(due_at)}.`,
    `Whether they do: \`vedette alerts events --check drill:${drill}\`; the outcome: \`vedette drills list\``,
  ].join("\n");
}
