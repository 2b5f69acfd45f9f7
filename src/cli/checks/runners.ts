/** `vedette runners`: which runners may report from further locations. */
import { connect } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { print, printAnswer, printJson } from "#cli/print.ts";
import { createTable, plain } from "#cli/table.ts";
import { makeToken, registerToken } from "#cli/token.ts";
import { formatUtc } from "#kernel/time.ts";
import { callerWords } from "#kernel/words.ts";
import { runnerHandlers, runnerService } from "#monitor/operations/contract.ts";

/** The command generates the token: Vedette stores only its hash. */
export async function addRunner(location: string, options: GlobalOptions): Promise<number> {
  const { token, hash } = makeToken();
  const { output } = runnerHandlers.Add;
  const body = { location, token_hash: hash };
  const { replaced } = await registerToken(token, () =>
    connect(options).call(`${runnerService}/Add`, body, output),
  );
  return printAnswer(
    { location, token, replaced },
    options.json,
    () => `${token}\n${replaced ? "The earlier token is void. " : ""}${how(location)}`,
  );
}

function how(location: string): string {
  return `Save it: it is shown once. At the location: VEDETTE_RUNNER_TOKEN=… vedette monitor-runner --location ${location} --control …`;
}

export async function removeRunner(location: string, options: GlobalOptions): Promise<number> {
  const { output } = runnerHandlers.Remove;
  const removed = await connect(options).call(`${runnerService}/Remove`, { location }, output);
  return printAnswer(
    removed,
    options.json,
    () => `${location} is removed: its reports are no longer expected`,
  );
}

export async function listRunners(options: GlobalOptions): Promise<number> {
  const { output } = runnerHandlers.List;
  const { runners } = await connect(options).call(`${runnerService}/List`, {}, output);
  if (options.json) printJson({ runners });
  else {
    const table = createTable(["location", "added", "by", "last seen"]);
    for (const { location, created_at, added_by, seen_at } of runners) {
      const by = plain(callerWords(added_by));
      table.push([location, formatUtc(created_at), by, formatUtc(seen_at) || "never"]);
    }
    print(String(table));
  }
  return 0;
}
