/** The commands on a fleet's desired images and on its sentinels. Each returns its exit code. */
import { hash } from "node:crypto";
import { connect } from "#cli/connection.ts";
import { type GlobalOptions, ofFleet } from "#cli/options.ts";
import { complain, print, printAnswer, printJson } from "#cli/print.ts";
import { reportSentinels } from "#cli/rollout/report.ts";
import { selectorOf } from "#cli/selector.ts";
import { createTable, plain } from "#cli/table.ts";
import {
  ConfirmedList,
  defaultFleet,
  type FleetList,
  fleetService,
  qualifiedId,
  SentinelLog,
} from "#fleet/contract.ts";
import { type DriftedSentinel, FleetDrift } from "#fleet/drift-contract.ts";
import { shortenImage } from "#kernel/image-reference.ts";
import { formatUtc } from "#kernel/time.ts";
import { callerWords, whichOf } from "#kernel/words.ts";
import { pinHandlers, pinsName, type Selector } from "#rollout/choice/contract.ts";

/** Exit code 2: a sentinel that is not held runs another image. */
export async function showDrift(options: GlobalOptions): Promise<number> {
  const address = `${fleetService.name}/Drift`;
  const drift = await connect(options).call(address, ofFleet(options), FleetDrift);
  printAnswer(drift, options.json, () => describeDrift(drift));
  return drift.total > drift.held ? 2 : 0;
}

function describeDrift({ sentinels, total, held, checked_at: at, on_drift }: FleetDrift): string {
  if (at === null) return "The fleet has not been compared yet: try again in a minute.";
  const as = `as of ${formatUtc(at)}`;
  if (total === 0) return `Every sentinel runs its desired image, ${as}.`;
  const table = createTable(["sentinel", "region", "runs", "desired", "why", "since", "held"]);
  for (const one of sentinels) table.push(driftRow(one));
  const more = total > sentinels.length ? `\n… and ${total - sentinels.length} more` : "";
  const follows = on_drift === "converge" ? "they are brought back" : "nothing is changed";
  return `${table}${more}\n\n${total} drifted, ${held} of them held, ${as}; ${follows} (fleet.on_drift).`;
}

function driftRow({ held, ...one }: DriftedSentinel): string[] {
  const runs = one.running_image === "" ? "nothing" : plain(shortenImage(one.running_image));
  const by = held && `${held.pin} by ${callerWords(held.by)}: ${held.reason}`;
  const desired = plain(shortenImage(one.desired_image));
  const where = [plain(one.id), plain(one.region)];
  return [...where, runs, desired, one.why, formatUtc(one.since), plain(by ?? "")];
}

type HoldOptions = GlobalOptions & Selector & { reason: string };

/** A hold is a pin without an end. Its name follows from what it holds: the same hold again is no second one. */
export async function hold(options: HoldOptions): Promise<number> {
  const { reason, fleet = defaultFleet } = options;
  const held = selectorOf(options) ?? { whole_fleet: true as const };
  const digest = hash("sha256", JSON.stringify([fleet, held]), "hex");
  const pin = { id: `hold-${digest.slice(0, 8)}`, fleet, ...held, reason };
  const added = await connect(options).call(`${pinsName}/Add`, pin, pinHandlers.Add.output);
  printAnswer(
    added,
    options.json,
    () =>
      `Held: ${plain(whichOf(added))}. Release it: vedette fleet release ${added.id} --reason …`,
  );
  for (const warning of added.warnings) complain(`warning: ${warning}`);
  return 0;
}

export async function release(
  id: string,
  options: GlobalOptions & { reason: string },
): Promise<number> {
  const request = { id, reason: options.reason };
  const { output } = pinHandlers.Remove;
  const removed = await connect(options).call(`${pinsName}/Remove`, request, output);
  return printAnswer(removed, options.json, () => `Released: ${plain(whichOf(removed))}.`);
}

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

type LogOptions = GlobalOptions & { running?: boolean };

/** The lines alone go to stdout, what they are of to stderr. */
export async function showLog(id: string, options: LogOptions): Promise<number> {
  const body = {
    sentinel: nameSentinel(id, options.fleet),
    which: options.running === true ? "running" : "failed",
  };
  const log = await connect(options).call(`${fleetService.name}/Log`, body, SentinelLog);
  if (options.json) printJson(log);
  else reportLog(log);
  return 0;
}

/** Its id may be written as its fleet has it. */
function nameSentinel(id: string, fleet = defaultFleet): string {
  const prefix = qualifiedId(fleet, "");
  return id.startsWith(prefix) ? id : `${prefix}${id}`;
}

function reportLog({ sentinel, image, lines, at, reason, note, similar = [] }: SentinelLog): void {
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
