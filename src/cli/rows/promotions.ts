/** The commands on promotions. Each returns its exit code. */
import { connect } from "#cli/connection.ts";
import { type GlobalOptions, ofFleet } from "#cli/options.ts";
import { printAnswer } from "#cli/print.ts";
import { createTable, plain } from "#cli/table.ts";
import { defaultFleet } from "#fleet/contract.ts";
import { callerWords } from "#kernel/words.ts";
import {
  type ListedPromotion,
  promotionHandlers,
  promotionsName,
} from "#rollout/promotions/contract.ts";

export async function listPromotions(options: GlobalOptions): Promise<number> {
  const { output } = promotionHandlers.List;
  const list = await connect(options).call(`${promotionsName}/List`, ofFleet(options), output);
  return printAnswer(list, options.json, () => tableOf(list.promotions));
}

type AddOptions = GlobalOptions & { after: string; reason: string };

export async function addPromotion(id: string, options: AddOptions): Promise<number> {
  const { fleet = defaultFleet, after, reason } = options;
  const { output } = promotionHandlers.Add;
  const promotion = { id, fleet, after, reason };
  const added = await connect(options).call(`${promotionsName}/Add`, promotion, output);
  return printAnswer(added, options.json, () => `The promotion ${id} is added: ${wordsOf(added)}.`);
}

export async function removePromotion(
  id: string,
  options: GlobalOptions & { reason: string },
): Promise<number> {
  const { reason } = options;
  const { output } = promotionHandlers.Remove;
  const removed = await connect(options).call(`${promotionsName}/Remove`, { id, reason }, output);
  return printAnswer(removed, options.json, () => `The promotion ${id} is removed.`);
}

function tableOf(promotions: readonly ListedPromotion[]): string {
  if (promotions.length === 0) return "There are no promotions: each fleet takes any image.";
  const table = createTable(["promotion", "fleet", "after", "reason", "by"]);
  for (const { id, fleet, after, reason, added_by: by } of promotions)
    table.push([id, fleet, after, plain(reason), plain(callerWords(by))]);
  return String(table);
}

function wordsOf({ fleet, after }: ListedPromotion): string {
  return `${fleet} takes an image once ${after} has completed it`;
}
