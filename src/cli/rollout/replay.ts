/** `vedette rollout replay`: what another policy would have done with past rollouts. */
import { type Connection, connect } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { printAnswer, usageError } from "#cli/print.ts";
import { createTable, plain } from "#cli/table.ts";
import { shortenImage } from "#kernel/image-reference.ts";
import { ProblemError } from "#kernel/problem.ts";
import { formatDuration } from "#kernel/time.ts";
import { stateWords } from "#kernel/words.ts";
import {
  type ReplayPolicy,
  type ReplayResult,
  replayHandlers,
  replayName,
} from "#rollout/replay/contract.ts";
import { readPolicyFile } from "./request-file.ts";

type Options = GlobalOptions & { policy: string; last?: number };

export async function replayRollouts(id: string | undefined, options: Options): Promise<number> {
  const { last, json } = options;
  if ((id === undefined) === (last === undefined))
    throw usageError("name one rollout by its id (vedette rollout history), or use --last");
  const policy = readPolicyFile(options.policy);
  const connection = connect(options);
  if (id !== undefined)
    return printAnswer(await replayOne(connection, id, policy), json, reportReplay);
  const { rollouts } = await connection.rollout("History", { limit: last ?? 1 });
  const replays: ReplayResult[] = [];
  const refused: Refused[] = [];
  for (const { rollout_id, image } of rollouts) {
    try {
      replays.push(await replayOne(connection, rollout_id, policy));
    } catch (error) {
      // One that runs still, or that the policy does not fit: the others are of interest all the same.
      if (!(error instanceof ProblemError)) throw error;
      refused.push({ rollout_id, image, detail: error.message });
    }
  }
  return printAnswer({ replays, refused }, json, reportReplays);
}

type Refused = { rollout_id: string; image: string; detail: string };

function replayOne(connection: Connection, rollout_id: string, policy: ReplayPolicy) {
  const { output } = replayHandlers.Replay;
  return connection.call(`${replayName}/Replay`, { rollout_id, policy }, output);
}

/** Describes one replay in sentences. */
export function reportReplay(replay: ReplayResult): string {
  const { rollout_id, image, really, would, notes } = replay;
  return [
    `${shortenImage(image)}  ${rollout_id}`,
    `  really     ${reallyWords(really)}; ${orderedWords(really)}, ${span(really.seconds)}`,
    `  would have ${wouldWords(would)}; ${orderedWords(would)}, ${span(would.seconds)}`,
    ...(would.reason === undefined ? [] : [`  reason     ${plain(would.reason)}`]),
    `  difference ${differenceWords(replay)}`,
    ...notes.map((note) => `  ${plain(note)}`),
  ].join("\n");
}

function reportReplays({ replays, refused }: { replays: ReplayResult[]; refused: Refused[] }) {
  if (replays.length + refused.length === 0) return "There was no rollout yet.";
  const table = createTable(["rollout", "image", "really", "would have", "sentinels", "time"]);
  for (const replay of replays) {
    const { rollout_id, image, really, would, fewer, longer_seconds: longer } = replay;
    const sentinels = `${would.ordered}${would.unknown > 0 ? `+${would.unknown}?` : ""} (${signed(-fewer)})`;
    const time = `${span(would.seconds)} (${longer < 0 ? "-" : "+"}${span(Math.abs(longer))})`;
    const [was, is] = [reallyWords(really), wouldWords(would)];
    table.push([rollout_id, shortenImage(image), was, is, sentinels, time]);
  }
  for (const { rollout_id, image, detail } of refused)
    table.push([rollout_id, shortenImage(image), `not replayed: ${plain(detail)}`, "", "", ""]);
  return String(table);
}

function reallyWords(really: ReplayResult["really"]): string {
  return `${stateWords(really)} in wave ${really.wave} of ${really.waves}`;
}

const ends: Record<ReplayResult["would"]["end"], string> = {
  paused: "paused",
  rolled_back: "rolled back",
  completed: "completed",
  unknown: "gone on, as far as is known,",
};

function wouldWords({ end, wave, waves, cause }: ReplayResult["would"]): string {
  const why = cause === undefined ? "" : ` (${cause})`;
  return `${ends[end]} in wave ${wave} of ${waves}${why}`;
}

function orderedWords(of: { ordered: number; failed: number; unknown?: number }): string {
  const unknown = of.unknown ? ` and ${of.unknown} of which no result is known` : "";
  return `${of.ordered} sentinels ordered${unknown}, ${of.failed} failed`;
}

function differenceWords({ fewer, longer_seconds: longer }: ReplayResult): string {
  const count = `${Math.abs(fewer)} sentinels ${fewer < 0 ? "more" : "fewer"}`;
  return `${count}, ${span(Math.abs(longer))} ${longer < 0 ? "shorter" : "longer"}`;
}

function signed(count: number): string {
  return count > 0 ? `+${count}` : `${count}`;
}

function span(seconds: number): string {
  return formatDuration(seconds * 1_000);
}
