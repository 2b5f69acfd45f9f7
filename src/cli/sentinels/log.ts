import { connect } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { complain, print, printJson } from "#cli/print.ts";
import { plain } from "#cli/table.ts";
import { defaultFleet, fleetService, qualifiedId, SentinelLog } from "#fleet/contract.ts";
import { shortenImage } from "#kernel/image-reference.ts";

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
