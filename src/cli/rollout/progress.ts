/** The progress of a rollout: bars on a terminal, lines in a log, JSON for programs. */
import cliProgress from "cli-progress";
import type { Connection } from "#cli/connection.ts";
import { plain } from "#cli/table.ts";
import { escapeJson, forTerminal } from "#kernel/text.ts";
import { formatUtc } from "#kernel/time.ts";
import { stateWords } from "#kernel/words.ts";
import type { RolloutRequest, RolloutStatus, StandingPart } from "#rollout/contract.ts";

// Reads the size of each wave, for progress bars. undefined is no error: progress then shows as lines.

type WaveSize = { wave: number; size: number; covered: number };

export function planOf(
  connection: Connection,
  request: RolloutRequest,
): Promise<WaveSize[] | undefined> {
  return connection.rollout("Plan", request).then(
    ({ waves }) => waves,
    () => undefined,
  );
}

export async function sizesOf(connection: Connection): Promise<WaveSize[] | undefined> {
  try {
    const { rollout_id } = await connection.rollout("Status", {});
    const { rollouts } = await connection.rollout("History", { limit: 1 });
    const latest = rollouts.find((rollout) => rollout.rollout_id === rollout_id);
    return latest && waveSizes(latest.total, latest.wave_percentages);
  } catch {
    return undefined;
  }
}

/** Waves cover ⌈total·percentage/100⌉ in all; one that adds none is left out (src/rollout/README.md, "Waves"). */
export function waveSizes(total: number, percentages: readonly number[]): WaveSize[] {
  const waves: WaveSize[] = [];
  let before = 0;
  for (const percentage of percentages) {
    const covered = Math.floor((total * percentage + 99) / 100);
    if (covered > before) waves.push({ wave: waves.length + 1, size: covered - before, covered });
    before = covered;
  }
  return waves;
}

export type Progress = {
  show: (status: RolloutStatus) => void;
  /** Something worth a line that is no state. */
  log: (text: string) => void;
  stop: () => void;
};

type Output = Pick<NodeJS.WriteStream, "write" | "isTTY" | "rows">;

/** Shows bars if the waves are known and the terminal has room for them, otherwise lines. */
export function createProgress(
  output: Output,
  { json, waves = [] }: { json: boolean; waves?: WaveSize[] | undefined },
): Progress {
  if (json) return createJsonLines(output);
  const hasRoom = output.isTTY === true && waves.length > 0 && waves.length < output.rows - 2;
  return hasRoom ? createBars(output as NodeJS.WriteStream, waves) : createLines(output);
}

/** The id and the words are of whoever has answered. */
const writeLine = (output: Output, text: string) => output.write(`${forTerminal(text)}\n`);

function createJsonLines(output: Output): Progress {
  return onChange(
    (status) => output.write(`${escapeJson(JSON.stringify(status))}\n`),
    () => {},
  );
}

function createLines(output: Output): Progress {
  return onChange(
    (status) => writeLine(output, describeStatus(status)),
    (text) => writeLine(output, text),
  );
}

/** Calls `write` and `log` only for changes, so that logs stay short. */
function onChange(write: (status: RolloutStatus) => void, log: (text: string) => void): Progress {
  let last = "";
  let lastNote = "";
  return {
    show(status) {
      const { updated_at: _, ...rest } = status;
      const text = JSON.stringify(rest);
      const { rollout_id: id, started_at: start } = status;
      if (last === "" && start !== null) log(`rollout ${id}, started ${formatUtc(start)}`);
      if (text !== last) write(status);
      last = text;
      lastNote = "";
    },
    log(text) {
      if (text !== lastNote) log(text);
      lastNote = text;
    },
    stop() {},
  };
}

/** Describes a status, such as `wave 2/5: 12 of 40 on the new image, 0 failed, 4 in flight`. */
export function describeStatus(status: RolloutStatus): string {
  const { current_wave, total_waves, total, succeeded, failed, in_flight, state } = status;
  const wait = waitOf(status);
  // Before the fleet is listed there is nothing to count.
  if (state === "in_progress" && total_waves === 0)
    return `not started: ${wait ?? "the fleet is being listed"}`;
  const more = wait === undefined ? "" : `; ${wait}`;
  if (state === "rolling_back") {
    return `rolling back: ${succeeded} of ${total} sentinels not put back yet, ${in_flight} in flight${more}`;
  }
  const words = plain(stateWords(status));
  if (state === "completed" && total === 0) return `${words}: ${plain(status.reason ?? "")}`;
  const position = state === "in_progress" ? `wave ${current_wave}/${total_waves}` : words;
  const now = standingOf(status).map(({ text }) => plain(text));
  if (now.length > 0) return `${position}: ${now.join(" ")}`;
  return `${position}: ${succeeded} of ${total} on the new image, ${failed} failed, ${in_flight} in flight${more}`;
}

/** Says what runs where once it stands still: whoever was paged asks that first. Empty: all went well. */
export function standingOf({ state, failed, standing = [] }: RolloutStatus): StandingPart[] {
  return state === "paused" || (state === "cancelled" && failed > 0) ? standing : [];
}

/** Why a running rollout or rollback waits, in words. */
function waitOf({ state, reason }: RolloutStatus): string | undefined {
  const isRunning = state === "in_progress" || state === "rolling_back";
  return isRunning && reason !== undefined ? plain(reason) : undefined;
}

/** Finished sentinels of each wave. A failed wave may have left some out: the count starts at `doneBefore`. */
export function fillWaves(
  waves: readonly WaveSize[],
  { status, doneBefore }: { status: RolloutStatus; doneBefore: number },
): number[] {
  const done = status.succeeded + status.failed;
  return waves.map(({ wave, size }) => {
    if (status.state === "completed" || wave < status.current_wave) return size;
    if (wave > status.current_wave) return 0;
    return Math.max(0, Math.min(size, done - doneBefore));
  });
}

function createBars(stream: NodeJS.WriteStream, waves: readonly WaveSize[]): Progress {
  const multi = new cliProgress.MultiBar({
    stream,
    format: "  wave {wave}  {bar}  {value}/{total}  {note}",
    barCompleteChar: "█",
    barIncompleteChar: "░",
    hideCursor: true,
    clearOnComplete: false,
    stopOnComplete: false,
    // The command handles signals itself.
    gracefulExit: false,
  });
  const bars = waves.map(({ wave, size }) => multi.create(size, 0, { wave, note: "" }));
  let current = { wave: 0, doneBefore: 0 };
  let isStopped = false;
  let lastWait: string | undefined;
  return {
    show(status) {
      const { current_wave: wave } = status;
      const wait = waitOf(status);
      if (wait !== undefined && wait !== lastWait) multi.log(`  ${forTerminal(wait)}\n`);
      lastWait = wait;
      if (wave !== current.wave) current = { wave, doneBefore: doneBeforeWave(waves, status) };
      const fills = fillWaves(waves, { status, doneBefore: current.doneBefore });
      for (const [i, fill] of fills.entries()) {
        const number = i + 1;
        const note = number === wave ? noteOf(status) : "";
        bars[i]?.update(fill, { wave: String(number).padStart(2), note });
      }
    },
    log(text) {
      multi.log(`  ${forTerminal(text)}\n`);
    },
    stop() {
      if (!isStopped) multi.stop();
      isStopped = true;
    },
  };
}

/** Counts the sentinels that were finished when the wave started, derived from a status of some moments later. */
function doneBeforeWave(waves: readonly WaveSize[], status: RolloutStatus): number {
  const covered = waves[status.current_wave - 2]?.covered ?? 0;
  return status.failed === 0 ? covered : Math.min(covered, status.succeeded + status.failed);
}

function noteOf({ state, in_flight, failed }: RolloutStatus): string {
  if (state === "completed") return "";
  const failures = failed > 0 ? `, ${failed} failed` : "";
  const words = state === "in_progress" ? `${in_flight} in flight` : stateWords({ state });
  return `${words}${failures}`;
}
