/** The progress of a rollout: bars on a terminal, lines in a log, JSON for programs. */
import cliProgress from "cli-progress";
import type { RolloutPlan, RolloutStatus } from "#rollout/contract.ts";

export type Progress = {
  show: (status: RolloutStatus) => void;
  /** Something worth a line that is no state. */
  note: (text: string) => void;
  stop: () => void;
};

type Output = Pick<NodeJS.WriteStream, "write" | "isTTY">;

export type WaveSizes = Pick<RolloutPlan["waves"][number], "wave" | "size" | "covered">[];

/** Bars need to know the waves; without them, or without a terminal, there are lines. */
export function createProgress(
  output: Output,
  options: { json: boolean; waves?: WaveSizes | undefined },
): Progress {
  if (options.json) return createJsonLines(output);
  if (output.isTTY !== true || options.waves === undefined) return createLines(output);
  return createBars(options.waves);
}

function createJsonLines(output: Output): Progress {
  return onChange(
    (status) => output.write(`${JSON.stringify(status)}\n`),
    () => {},
  );
}

function createLines(output: Output): Progress {
  return onChange(
    (status) => output.write(`${describeStatus(status)}\n`),
    (text) => output.write(`${text}\n`),
  );
}

/** Calls only when there is something new: a log is read afterwards. */
function onChange(write: (status: RolloutStatus) => void, note: (text: string) => void): Progress {
  let last = "";
  let lastNote = "";
  return {
    show(status) {
      const { updated_at: _, ...rest } = status;
      const text = JSON.stringify(rest);
      if (text !== last) write(status);
      last = text;
      lastNote = "";
    },
    note(text) {
      if (text !== lastNote) note(text);
      lastNote = text;
    },
    stop() {},
  };
}

/** For example `wave 2/5: 12 of 40 sentinels ready, 0 failed, 4 in flight`. */
export function describeStatus(status: RolloutStatus): string {
  const { current_wave, total_waves, total, succeeded, failed, in_flight, state } = status;
  const place = state === "in_progress" ? `wave ${current_wave}/${total_waves}` : state;
  return `${place}: ${succeeded} of ${total} sentinels ready, ${failed} failed, ${in_flight} in flight`;
}

/** One bar per wave. What is done of a wave follows from what is done in all: waves run in order. */
export function doneOfWave(wave: { size: number; covered: number }, done: number): number {
  return Math.max(0, Math.min(wave.size, done - (wave.covered - wave.size)));
}

function createBars(waves: WaveSizes): Progress {
  const multi = new cliProgress.MultiBar({
    format: "  wave {wave} {bar} {value}/{total}  {note}",
    barCompleteChar: "█",
    barIncompleteChar: "░",
    hideCursor: true,
    clearOnComplete: false,
    stopOnComplete: false,
  });
  const bars = waves.map(({ wave, size }) => multi.create(size, 0, { wave, note: "" }));
  return {
    show(status) {
      const done = status.succeeded + status.failed;
      for (const [i, wave] of waves.entries()) {
        const isCurrent = status.state === "in_progress" && status.current_wave === wave.wave;
        const note = isCurrent ? `${status.in_flight} in flight, ${status.failed} failed` : "";
        bars[i]?.update(doneOfWave(wave, done), { wave: wave.wave, note });
      }
    },
    note(text) {
      multi.log(`  ${text}\n`);
    },
    stop() {
      multi.stop();
    },
  };
}
