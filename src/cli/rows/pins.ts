/** The commands on pins. Each returns its exit code. */
import { connect } from "#cli/connection.ts";
import { type GlobalOptions, ofFleet } from "#cli/options.ts";
import { complain, printAnswer, usageError } from "#cli/print.ts";
import { selectorOf } from "#cli/selector.ts";
import { createTable, plain } from "#cli/table.ts";
import type { Labels } from "#fleet/contract.ts";
import { formatUtc } from "#kernel/time.ts";
import { callerWords, whichOf } from "#kernel/words.ts";
import { type ListedPin, pinHandlers, pinsName } from "#rollout/choice/contract.ts";

type AddOptions = GlobalOptions & {
  reason: string;
  ids?: string[];
  regions?: string[];
  labels?: Labels;
  ends?: string;
};

export async function listPins(options: GlobalOptions): Promise<number> {
  const { output } = pinHandlers.List;
  const list = await connect(options).call(`${pinsName}/List`, ofFleet(options), output);
  return printAnswer(list, options.json, () => tableOf(list.pins));
}

export async function addPin(id: string, options: AddOptions): Promise<number> {
  const { reason, ends } = options;
  const selector = selectorOf(options);
  if (selector === undefined) throw usageError("a pin needs --ids, --regions or --labels");
  const pin = { id, ...ofFleet(options), ...selector, reason, ...(ends !== undefined && { ends }) };
  const added = await connect(options).call(`${pinsName}/Add`, pin, pinHandlers.Add.output);
  printAnswer(
    added,
    options.json,
    () => `The pin ${id} is added: ${plain(whichOf(added))}, ${untilOf(added)}.`,
  );
  for (const warning of added.warnings) complain(`warning: ${warning}`);
  return 0;
}

export async function removePin(
  id: string,
  options: GlobalOptions & { reason: string },
): Promise<number> {
  const { reason } = options;
  const { output } = pinHandlers.Remove;
  const removed = await connect(options).call(`${pinsName}/Remove`, { id, reason }, output);
  return printAnswer(removed, options.json, () => `The pin ${id} is removed.`);
}

function tableOf(pins: readonly ListedPin[]): string {
  if (pins.length === 0) return "There are no pins: rollouts leave no sentinel out.";
  const table = createTable(["pin", "fleet", "sentinels", "holds", "reason", "by"]);
  for (const pin of pins) {
    const { id, fleet = "all", reason, added_by: by } = pin;
    const whose = [plain(whichOf(pin)), untilOf(pin), plain(reason), plain(callerWords(by))];
    table.push([id, fleet, ...whose]);
  }
  return String(table);
}

function untilOf({ ends }: ListedPin): string {
  if (ends === undefined) return "until it is removed";
  return `until ${formatUtc(ends)}${Date.parse(ends) <= Date.now() ? ", over" : ""}`;
}
