import type { FleetList } from "#fleet/contract.ts";
import { connect } from "./connection.ts";
import type { GlobalOptions } from "./options.ts";
import { reportSentinels } from "./report.ts";

const pageSize = 1_000;

/** Lists the whole fleet, page by page. */
export async function listSentinels(options: GlobalOptions): Promise<number> {
  const connection = connect(options);
  const sentinels: FleetList["sentinels"] = [];
  let cursor: string | undefined;
  do {
    const page = await connection.sentinels({ limit: pageSize, ...(cursor && { cursor }) });
    sentinels.push(...page.sentinels);
    cursor = page.next_cursor;
  } while (cursor !== undefined);
  const text = options.json ? JSON.stringify({ sentinels }) : reportSentinels(sentinels);
  process.stdout.write(`${text}\n`);
  return 0;
}
