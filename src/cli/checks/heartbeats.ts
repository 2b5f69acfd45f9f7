/** `vedette heartbeats`: the address that a job calls to say that it ran. */

import { connect } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { print, printJson } from "#cli/print.ts";
import { handOver, makeToken } from "#cli/token.ts";
import { heartbeatHandlers, heartbeatService } from "#monitor/operations/contract.ts";

/** The token is made here: Vedette keeps its hash and never sees it but in a ping. */
export async function registerHeartbeat(id: string, options: GlobalOptions): Promise<number> {
  const connection = connect(options);
  const list = await connection.checks("List", {});
  const ids = list.checks.flatMap(({ kind, id: known }) => (kind === "heartbeat" ? [known] : []));
  if (!ids.includes(id))
    throw new Error(`there is no heartbeat ${id}; there are ${ids.join(", ")}`);
  const { token, hash } = makeToken();
  const { output } = heartbeatHandlers.Register;
  const address = `${heartbeatService}/${id}/Register`;
  const answer = await handOver(`${connection.url}/${token}`, () =>
    connection.call(address, { token_hash: hash }, output),
  );
  const url = `${(answer.ping_url ?? connection.url).replace(/\/+$/, "")}/${token}`;
  if (options.json) printJson({ check: id, url, replaced: answer.replaced });
  else print(`${url}\n${answer.replaced ? "The earlier address is void. " : ""}${how}`);
  return 0;
}

const how =
  "Keep it: it is shown once. Call it when the job has ended well; add /start, /fail or /<exit code>.";
