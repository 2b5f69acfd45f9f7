import { ConfirmedList, type FleetList, fleetService } from "#fleet/contract.ts";
import { connect } from "./connection.ts";
import type { GlobalOptions } from "./options.ts";
import { reportSentinels } from "./report.ts";
import { plain } from "./table.ts";

const pageSize = 1_000;

/** Lists the whole fleet, page by page. */
export async function listSentinels(options: GlobalOptions): Promise<number> {
  const connection = connect(options);
  const sentinels: FleetList["sentinels"] = [];
  let cursor: string | undefined;
  let problem: string | undefined;
  do {
    const page = await connection.sentinels({ limit: pageSize, ...(cursor && { cursor }) });
    sentinels.push(...page.sentinels);
    cursor = page.next_cursor;
    problem = page.list_problem;
  } while (cursor !== undefined);
  if (problem !== undefined)
    process.stderr.write(`This list may be out of date: ${plain(problem)}\n`);
  const text = options.json
    ? JSON.stringify({ sentinels, ...(problem && { list_problem: problem }) })
    : reportSentinels(sentinels);
  process.stdout.write(`${text}\n`);
  return 0;
}

/** Takes a list that was refused because it lacks too many sentinels, if it still has `count`. */
export async function confirmSentinels(count: number, options: GlobalOptions): Promise<number> {
  const address = `${fleetService.name}/ConfirmList`;
  const { total } = await connect(options).call(address, { count }, ConfirmedList);
  const text = options.json ? JSON.stringify({ total }) : `${total} sentinels are known now.`;
  process.stdout.write(`${text}\n`);
  return 0;
}
