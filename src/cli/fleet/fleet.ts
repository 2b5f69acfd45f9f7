/** The commands on a fleet's desired images. Each returns its exit code. */
import { hash } from "node:crypto";
import { connect } from "#cli/connection.ts";
import { type GlobalOptions, ofFleet } from "#cli/options.ts";
import { complain, printAnswer } from "#cli/print.ts";
import { selectorOf } from "#cli/selector.ts";
import { createTable, plain } from "#cli/table.ts";
import { defaultFleet, fleetService } from "#fleet/contract.ts";
import { type DriftedSentinel, FleetDrift } from "#fleet/drift-contract.ts";
import { shortenImage } from "#kernel/image-reference.ts";
import { formatUtc } from "#kernel/time.ts";
import { callerWords, whichOf } from "#kernel/words.ts";
import { pinHandlers, pinsName, type Selector } from "#rollout/choice/contract.ts";

/** Exit code 2: a sentinel that is not held runs another image. */
export async function showDrift(options: GlobalOptions): Promise<number> {
  const address = `${fleetService.name}/Drift`;
  const drift = await connect(options).call(address, ofFleet(options), FleetDrift);
  printAnswer(drift, options.json, () => describe(drift));
  return drift.total > drift.held ? 2 : 0;
}

function describe({ sentinels, total, held, checked_at: at, on_drift }: FleetDrift): string {
  if (at === null) return "The fleet has not been compared yet: try again in a minute.";
  const as = `as of ${formatUtc(at)}`;
  if (total === 0) return `Every sentinel runs its desired image, ${as}.`;
  const table = createTable(["sentinel", "region", "runs", "desired", "why", "since", "held"]);
  for (const one of sentinels) table.push(rowOf(one));
  const more = total > sentinels.length ? `\n… and ${total - sentinels.length} more` : "";
  const follows = on_drift === "converge" ? "they are brought back" : "nothing is changed";
  return `${table}${more}\n\n${total} drifted, ${held} of them held, ${as}; ${follows} (fleet.on_drift).`;
}

function rowOf({ held, ...one }: DriftedSentinel): string[] {
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
