import { connect } from "#cli/connection.ts";
import { type GlobalOptions, ofFleet } from "#cli/options.ts";
import { complain, print, printAnswer, printJson } from "#cli/print.ts";
import { reportSentinels } from "#cli/rollout/report.ts";
import { plain } from "#cli/table.ts";
import {
  ConfirmedList,
  defaultFleet,
  type FleetList,
  fleetService,
  qualifiedId,
  SentinelLog,
} from "#fleet/contract.ts";
import { shortenImage } from "#kernel/image-reference.ts";

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

type Options = GlobalOptions & { running?: boolean };

/** The lines alone go to stdout, what they are of to stderr. */
export async function showLog(id: string, options: Options): Promise<number> {
  const body = {
    sentinel: nameSentinel(id, options.fleet),
    which: options.running === true ? "running" : "failed",
  };
  const log = await connect(options).call(`${fleetService.name}/Log`, body, SentinelLog);
  if (options.json) printJson(log);
  else report(log);
  return 0;
}

/** Its id may be written as its fleet has it. */
function nameSentinel(id: string, fleet = defaultFleet): string {
  const prefix = qualifiedId(fleet, "");
  return id.startsWith(prefix) ? id : `${prefix}${id}`;
}

function report({ sentinel, image, lines, at, reason, note, similar = [] }: SentinelLog): void {
  const when = at === undefined ? "" : `, ${at}`;
  complain(
    `${sentinel}, ${plain(shortenImage(image))}${when}${reason === undefined ? "" : `: ${plain(reason)}`}`,
  );
  if (lines.length > 0) print(lines.map(plain).join("\n"));
  if (note !== undefined)
    complain(lines.length > 0 ? `Note: ${plain(note)}` : `No log: ${plain(note)}`);
  if (similar.length > 0) {
    complain(`Failed in the same way, and have their log: ${similar.map(plain).join(", ")}`);
  }
}
