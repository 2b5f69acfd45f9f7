/** Waves as bars that fill; the pieces of a bar are the outcomes of its sentinels. */

import { count, duration } from "#console/web/format.ts";
import type { RolloutDetail } from "#rollout/history/contract.ts";
import { percentWords } from "./wave-part.ts";

type Wave = RolloutDetail["waves"][number];

type Props = {
  waves: Wave[];
  current: number;
  isRunning: boolean;
  /** By wave: how many sentinels a pin has held back. */
  heldBack: ReadonlyMap<number, number>;
};

export function Waves({ waves, current, isRunning, heldBack }: Props) {
  return (
    <section class="panel" aria-labelledby="waves-title">
      <header class="panel-head">
        <h2 id="waves-title">Waves</h2>
      </header>
      <ol class="waves">
        {waves.map((wave) => (
          <WaveBar
            key={wave.wave}
            wave={wave}
            percent={percentWords(wave, waves)}
            leftOut={heldBack.get(wave.wave) ?? 0}
            isNow={isRunning && wave.wave === current}
          />
        ))}
      </ol>
    </section>
  );
}

type BarProps = { wave: Wave; percent: string; leftOut: number; isNow: boolean };

function WaveBar({ wave, percent, leftOut, isNow }: BarProps) {
  const { size, succeeded, failed, reverted, not_reverted } = wave;
  const done = succeeded + failed + reverted + not_reverted;
  const pieces: [string, number][] = [
    ["b-good", succeeded],
    ["b-calm", reverted],
    ["b-warn", not_reverted],
    ["b-bad", failed],
  ];
  return (
    <li class={isNow ? "wave now" : "wave"} aria-current={isNow ? "step" : undefined}>
      <span class="wave-name">
        <b>Wave {wave.wave}</b> <span class="quiet">{percent}</span>
      </span>
      <span class="track" aria-hidden="true">
        {pieces.map(([kind, part]) => (
          <i key={kind} class={kind} style={{ width: `${(part * 100) / Math.max(1, size)}%` }} />
        ))}
      </span>
      <span class="wave-count">
        {count(done)} / {count(size)} <Extras wave={wave} leftOut={leftOut} />
      </span>
    </li>
  );
}

function Extras({ wave, leftOut }: Pick<BarProps, "wave" | "leftOut">) {
  const { failed, reverted, not_reverted, first_at, last_at, size, succeeded } = wave;
  const isWhole = succeeded + failed + leftOut === size && first_at !== null && last_at !== null;
  return (
    <>
      {failed > 0 && <span class="bad-text">· {count(failed)} failed </span>}
      {reverted > 0 && <span class="quiet">· {count(reverted)} reverted </span>}
      {not_reverted > 0 && <span class="warn-text">· {count(not_reverted)} not reverted </span>}
      {leftOut > 0 && <span class="quiet">· {count(leftOut)} left out </span>}
      {isWhole && failed === 0 && (
        <span class="quiet">
          · {duration((Date.parse(last_at) - Date.parse(first_at)) / 1_000)}
        </span>
      )}
    </>
  );
}
