/** Waves as bars that fill; the pieces of a bar are the outcomes of its sentinels. */
import type { Counts } from "#console/counts.ts";
import { count, duration } from "#console/web/format.ts";
import { Panel } from "#console/web/parts/blocks.tsx";
import type { RecordedWave } from "#rollout/history/contract.ts";
import { percentWords } from "./words.ts";

type Props = {
  waves: readonly RecordedWave[];
  current: number;
  isRunning: boolean;
  counts: readonly Counts[];
};

export function Waves({ waves, current, isRunning, counts }: Props) {
  return (
    <Panel title="Waves">
      <ol class="waves">
        {waves.map((wave, i) => {
          const of = counts[i];
          return (
            of !== undefined && (
              <WaveBar
                key={wave.wave}
                wave={wave}
                percent={percentWords(wave, waves)}
                counts={of}
                isNow={isRunning && wave.wave === current}
              />
            )
          );
        })}
      </ol>
    </Panel>
  );
}

type BarProps = { wave: RecordedWave; percent: string; counts: Counts; isNow: boolean };

function WaveBar({ wave, percent, counts, isNow }: BarProps) {
  const { total, done, succeeded, failed, reverted, not_reverted, deploying } = counts;
  const pieces: [string, number][] = [
    ["b-good", succeeded],
    ["b-calm", reverted],
    ["b-warn", not_reverted],
    ["b-bad", failed],
    ["b-mute", deploying],
  ];
  return (
    <li class={isNow ? "wave now" : "wave"} aria-current={isNow ? "step" : undefined}>
      <span class="wave-name">
        <b>Wave {wave.wave}</b> <span class="quiet">{percent}</span>
      </span>
      <span class="track" aria-hidden="true">
        {pieces.map(([kind, part]) => (
          <i key={kind} class={kind} style={{ width: `${(part * 100) / Math.max(1, total)}%` }} />
        ))}
      </span>
      <span class="wave-count">
        {count(done)} / {count(total)} <Extras wave={wave} counts={counts} />
      </span>
    </li>
  );
}

function Extras({ wave, counts }: Pick<BarProps, "wave" | "counts">) {
  const { reverted, not_reverted, held_back } = counts;
  const failed = counts.failed + counts.failed_before;
  const { started_at: from, ended_at: to } = wave;
  return (
    <>
      {failed > 0 && <span class="bad-text">· {count(failed)} failed </span>}
      {reverted > 0 && <span class="quiet">· {count(reverted)} reverted </span>}
      {not_reverted > 0 && <span class="warn-text">· {count(not_reverted)} not reverted </span>}
      {held_back > 0 && <span class="quiet">· {count(held_back)} left out </span>}
      {from !== null && to !== null && (
        <span class="quiet">· {duration((Date.parse(to) - Date.parse(from)) / 1_000)}</span>
      )}
    </>
  );
}
