import { connect } from "#cli/connection.ts";
import { type GlobalOptions, ofFleet } from "#cli/options.ts";
import { complain, printAnswer } from "#cli/print.ts";
import { reportSentinels } from "#cli/rollout/report.ts";
import { plain } from "#cli/table.ts";
import { ConfirmedList, type FleetList, fleetService } from "#fleet/contract.ts";

const pageSize = 1_000;

/** Far more than a fleet has. */
const mostSentinels = 1_000_000;

/** Lists the whole fleet, page by page. Exit code 1: it was never read, and so nothing is known. */
export async function listSentinels(options: GlobalOptions): Promise<number> {
  const connection = connect(options);
  const sentinels: FleetList["sentinels"] = [];
  let cursor: string | undefined;
  let problem: string | undefined;
  let confirmed: FleetList["list_confirmed"];
  do {
    const page = await connection.sentinels({ limit: pageSize, ...(cursor && { cursor }) });
    sentinels.push(...page.sentinels);
    cursor = page.next_cursor;
    problem = page.list_problem;
    confirmed = page.list_confirmed;
    if (sentinels.length > mostSentinels || (cursor && page.sentinels.length === 0)) {
      throw new Error("the list of sentinels does not end: check that the address is control's");
    }
  } while (cursor !== undefined);
  const list = { sentinels, list_problem: problem, list_confirmed: confirmed };
  printAnswer(list, options.json, () => reportSentinels(list));
  if (problem === undefined) return 0;
  if (sentinels.length > 0) complain(`This list may be out of date: ${plain(problem)}`);
  return sentinels.length > 0 ? 0 : 1;
}

/** Accepts a list that was refused because it lacks too many sentinels, if it still has `count`. */
export async function confirmSentinels(count: number, options: GlobalOptions): Promise<number> {
  const address = `${fleetService.name}/ConfirmList`;
  const body = { count, ...ofFleet(options) };
  const { total } = await connect(options).call(address, body, ConfirmedList);
  return printAnswer({ total }, options.json, () => `${total} sentinels are known now.`);
}
