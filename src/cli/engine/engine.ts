/** The commands on Restate's invocations. Each returns its exit code. */
import { setTimeout as delay } from "node:timers/promises";
import { connect } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { complain, printAnswer } from "#cli/print.ts";
import { createTable, plain } from "#cli/table.ts";
import { formatUtc } from "#kernel/time.ts";
import { versionWords } from "#kernel/words.ts";
import { engineHandlers, engineService, type Troubled, type Version } from "#worker/contract.ts";

/** Exit code 2: there is one. */
export async function showTroubled(options: GlobalOptions): Promise<number> {
  const { output } = engineHandlers.Troubled;
  const found = await connect(options).call(`${engineService.name}/Troubled`, {}, output);
  printAnswer(found, options.json, () => describeTroubled(found.invocations, found.total));
  return found.total === 0 ? 0 : 2;
}

function describeTroubled(invocations: readonly Troubled[], total: number): string {
  if (total === 0) return "Restate retries nothing, and nothing is paused.";
  const blocks = invocations.map((one) => {
    const next = one.next_attempt_at === null ? "" : `, next at ${formatUtc(one.next_attempt_at)}`;
    return [
      `${plain(one.target)}: ${one.status} since ${formatUtc(one.since)}, attempt ${one.attempts}${next}`,
      `  ${plain(one.id)}`,
      ...(one.reason === "" ? [] : [`  ${plain(one.reason)}`]),
      `  ${plain(one.advice)}`,
    ].join("\n");
  });
  const more = total - invocations.length;
  return [...blocks, ...(more > 0 ? [`… and ${more} more`] : [])].join("\n\n");
}

export async function retryInvocation(id: string, options: GlobalOptions): Promise<number> {
  const { input, output } = engineHandlers.Retry;
  const retried = await connect(options).call(
    `${engineService.name}/Retry`,
    input.parse({ id }),
    output,
  );
  return printAnswer(retried, options.json, () => `Tried again: ${plain(retried.target)}.`);
}

async function readVersions(options: GlobalOptions): Promise<Version[]> {
  const { output } = engineHandlers.Versions;
  return (await connect(options).call(`${engineService.name}/Versions`, {}, output)).versions;
}

/** Exit code 2: a version that no longer serves has something left. */
export async function showVersions(options: GlobalOptions): Promise<number> {
  const versions = await readVersions(options);
  printAnswer({ versions }, options.json, () => describeVersions(versions));
  return versions.some((one) => one.serves === 0 && versionWords(one).left > 0) ? 2 : 0;
}

function describeVersions(versions: readonly Version[]): string {
  const table = createTable(["revision", "address", "registered", "state", "unfinished"]);
  for (const one of versions) {
    const { state } = versionWords(one);
    const counts = Object.entries(one.unfinished).map(([status, count]) => `${count} ${status}`);
    const lost = one.unreachable > 0 ? [`${one.unreachable} unreachable`] : [];
    const unfinished = plain([...counts, ...lost].join(", "));
    const where = [plain(one.revision), plain(one.address), formatUtc(one.registered_at)];
    table.push([...where, state, unfinished]);
  }
  return String(table);
}

const pollMs = 1_000;

/** Exit code 2: something is left when the time is over. */
export async function drainVersion(
  revision: string,
  options: GlobalOptions & { timeout: number },
): Promise<number> {
  const endsAtMs = Date.now() + options.timeout * 1_000;
  let left = await countLeft(revision, options);
  while (left > 0 && Date.now() < endsAtMs) {
    await delay(pollMs);
    const before = left;
    left = await countLeft(revision, options);
    if (left !== before) complain(`${left} unfinished`);
  }
  printAnswer({ revision, left }, options.json, () =>
    left === 0
      ? `${revision} has ended everything: its process may stop.`
      : describeLeft(revision, left),
  );
  return left === 0 ? 0 : 2;
}

/** At each of its addresses. Throws if the version is not known. */
async function findVersion(revision: string, options: GlobalOptions): Promise<Version[]> {
  const found = (await readVersions(options)).filter((one) => one.revision === revision);
  if (found.length === 0) throw new Error(`Restate knows no version with the revision ${revision}`);
  return found;
}

/** Throws if the version is not known, or serves: then nothing drains. */
async function countLeft(revision: string, options: GlobalOptions): Promise<number> {
  const found = await findVersion(revision, options);
  if (found.some(({ serves }) => serves > 0)) {
    throw new Error(`${revision} serves: a version drains once a later one is started`);
  }
  return found.reduce((sum, one) => sum + versionWords(one).left, 0);
}

const describeLeft = (revision: string, left: number) =>
  `${left} of ${revision} have not ended: wait on, or move them: vedette upgrade adopt ${revision}`;

export async function adoptVersion(revision: string, options: GlobalOptions): Promise<number> {
  const { input, output } = engineHandlers.Adopt;
  const request = input.parse({ revision });
  await findVersion(revision, options);
  const adopted = await connect(options).call(`${engineService.name}/Adopt`, request, output);
  const { moved, left } = adopted;
  printAnswer(adopted, options.json, () => {
    const more =
      left === 0 ? "" : `; ${left} more are at work, or too many for one call: repeat it`;
    return `${moved} continue on the version that serves${more}.`;
  });
  return left === 0 ? 0 : 2;
}
