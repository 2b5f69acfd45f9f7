/** Shows what ran over the time of a rollout, with a slider that moves through it. */
import { useMemo } from "preact/hooks";
import { count, duration, sentinels } from "#console/web/format.ts";
import { Notice } from "#console/web/parts/blocks.tsx";
import { Time } from "#console/web/parts/time.tsx";
import { exact } from "#console/web/times.ts";
import type { MessageView } from "#rollout/history/contract.ts";
import {
  type CountedMoment,
  countAlong,
  countsAt,
  type Layer,
  type LayerCounts,
  lastEvent,
  layers,
  momentsOf,
  outline,
  type Past,
  spanOf,
  timeOf,
} from "./moments.ts";
import type { MomentControl } from "./use-moment.ts";

type Props = { past: Past; shown: MomentControl; messages: readonly MessageView[] };

const layerNames: Record<Layer, string> = {
  fresh: "New image",
  stuck: "New image, not reverted",
  failed: "Failed",
  deploying: "Deploying",
  reverted: "Reverted",
  previous: "Previous image",
};

export function Timeline({ past, shown, messages }: Props) {
  const along = useMemo(() => countAlong(past), [past]);
  const counts = countsAt(along, shown.moment);
  return (
    <section class="panel timeline" aria-labelledby="timeline-title">
      <header class="panel-head">
        <h2 id="timeline-title">What ran</h2>
        <Controls past={past} shown={shown} messages={messages} />
      </header>
      <Lost past={past} />
      <Readout past={past} shown={shown} messages={messages} />
      <Areas past={past} along={along} moment={shown.moment} messages={messages} />
      <Slider past={past} shown={shown} counts={counts} />
      <Legend along={along} counts={counts} />
    </section>
  );
}

function Controls({ past, shown, messages }: Props) {
  const events = useMemo(() => momentsOf(past, messages), [past, messages]);
  const { moment, isPlaying, move, play, pause } = shown;
  const before = events.findLast((one) => one < moment);
  const after = events.find((one) => one > moment);
  return (
    <div class="row">
      <button
        type="button"
        class="small"
        disabled={before === undefined}
        onClick={() => move(before ?? moment)}
      >
        Event before
      </button>
      <button type="button" class="small" onClick={isPlaying ? pause : play}>
        {isPlaying ? "Stop" : "Play"}
      </button>
      <button
        type="button"
        class="small"
        disabled={after === undefined}
        onClick={() => move(after ?? moment)}
      >
        Next event
      </button>
    </div>
  );
}

function Lost({ past: { lost } }: { past: Past }) {
  if (lost === 0) return null;
  return (
    <Notice tone="info">
      Of {sentinels(lost)} only the last changes are known: they show the previous image until then.
    </Notice>
  );
}

function Readout({ past, shown, messages }: Props) {
  const iso = isoOf(past, shown.moment);
  const event = lastEvent(past, messages, shown.moment);
  return (
    <p class="timeline-now">
      <b>
        <Time iso={iso} />
      </b>{" "}
      <span class="quiet">{sinceStart(past, shown.moment)}</span>
      {event !== undefined && <span class="timeline-event">{event.title}</span>}
    </p>
  );
}

function isoOf(past: Past, moment: number): string {
  return new Date(timeOf(past, moment)).toISOString();
}

function sinceStart({ stepMs }: Past, moment: number): string {
  const seconds = (moment * stepMs) / 1_000;
  return seconds < 0
    ? `${duration(-seconds)} before the start`
    : `${duration(seconds)} after the start`;
}

type AreasProps = Pick<Props, "past" | "messages"> & {
  along: readonly CountedMoment[];
  moment: number;
};

function Areas({ past, along, moment, messages }: AreasProps) {
  const paths = useMemo(() => outline(past, along), [past, along]);
  const total = past.initial.length;
  return (
    <div class="timeline-areas">
      <span class="timeline-most quiet" aria-hidden="true">
        {count(total)}
      </span>
      <span class="timeline-none quiet" aria-hidden="true">
        0
      </span>
      <svg
        viewBox="0 0 1000 100"
        preserveAspectRatio="none"
        role="img"
        aria-label={`What ${sentinels(total)} ran over time. At the end: ${wordsOf(along.at(-1)?.counts)}.`}
      >
        {paths.map(({ layer, path }) => (
          <path key={layer} class={`layer-${layer}`} d={path} />
        ))}
      </svg>
      <div class="timeline-marks" aria-hidden="true">
        {momentsOf(past, messages).map((at) => (
          <i key={at} class="event" style={{ left: placeOf(past, at) }} />
        ))}
        <i class="now" style={{ left: placeOf(past, moment) }} />
      </div>
    </div>
  );
}

/** The place of a moment between the edges of the charts, in percent. */
export function placeOf(past: Past, moment: number): string {
  const { first, end } = spanOf(past);
  return `${((moment - first) * 100) / (end - first)}%`;
}

function Slider({ past, shown, counts }: Pick<Props, "past" | "shown"> & { counts: LayerCounts }) {
  const { first, end } = spanOf(past);
  const iso = isoOf(past, shown.moment);
  return (
    <input
      type="range"
      class="timeline-slider"
      aria-label="Time"
      aria-valuetext={`${exact(iso)}, ${sinceStart(past, shown.moment)}: ${wordsOf(counts)}`}
      min={first}
      max={end}
      step={1}
      value={shown.moment}
      onInput={(event) => shown.move(Number(event.currentTarget.value))}
    />
  );
}

function wordsOf(counts: LayerCounts | undefined): string {
  const some = layers.filter((layer) => (counts?.[layer] ?? 0) > 0);
  return some
    .map((layer) => `${layerNames[layer].toLowerCase()} ${count(counts?.[layer] ?? 0)}`)
    .join(", ");
}

/** The legend has all layers that there are at any time, so that it does not jump while the slider moves. */
function Legend({ along, counts }: { along: readonly CountedMoment[]; counts: LayerCounts }) {
  const used = layers.filter((layer) => along.some((one) => one.counts[layer] > 0));
  return (
    <ul class="legend">
      {used.map((layer) => (
        <li key={layer}>
          <i class={`swatch layer-${layer}`} aria-hidden="true" /> {layerNames[layer]}{" "}
          <b>{count(counts[layer])}</b>
        </li>
      ))}
    </ul>
  );
}
