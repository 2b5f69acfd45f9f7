/** A chart over time: the library draws it, with our theme, width and description. */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { paint } from "#console/web/theme.ts";
import { when } from "#console/web/times.ts";
import { elapsed, timeLabels, type Unit } from "./axis.ts";

export type Line = {
  label: string;
  /** A custom property of the theme, such as `--info-fill`. */
  colour: string;
  values: (number | null)[];
  /** Filled from the line below it, or from zero. */
  isArea?: boolean;
  dash?: number[];
};

export type Threshold = { label: string; value: number; colour: string };

type Props = {
  /** A text alternative for screen readers. */
  description: string;
  /** Unix seconds, rising. */
  times: number[];
  /** The range of the time axis, whether it has data or not. Unix seconds. */
  span: { from: number; to: number };
  lines: readonly Line[];
  thresholds?: readonly Threshold[];
  unit: Unit;
  /** Times are seconds since a start, not since 1970. */
  isElapsed?: boolean;
};

/** Wide charts are a little higher, and none fills a screen. */
function heightFor(width: number): number {
  return Math.round(Math.min(320, Math.max(220, width / 4)));
}

export function Chart(props: Props) {
  const place = useRef<HTMLDivElement>(null);
  const { description, times, span, lines, thresholds = [], unit, isElapsed = false } = props;
  const shown = JSON.stringify([times, span, lines, thresholds]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `shown` stands for what is drawn
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const data = [times, ...lines.map(({ values }) => values)] as uPlot.AlignedData;
    const plot = new uPlot(
      optionsFor(element, { span, lines, thresholds, unit, isElapsed }),
      data,
      element,
    );
    const watcher = new ResizeObserver(() => {
      const { clientWidth: width } = element;
      plot.setSize({ width, height: heightFor(width) });
    });
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [shown, paint.value]);

  return <div ref={place} class="chart" role="img" aria-label={description} />;
}

type Drawn = Required<Pick<Props, "span" | "lines" | "thresholds" | "unit" | "isElapsed">>;

function optionsFor(element: HTMLElement, drawn: Drawn): uPlot.Options {
  const { span, lines, thresholds, unit, isElapsed } = drawn;
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour("--quiet"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { stroke: colour("--line"), width: 1 },
    font: "12px system-ui, sans-serif",
  };
  return {
    width: element.clientWidth,
    height: heightFor(element.clientWidth),
    padding: [12, 32, 0, 0],
    cursor: { drag: { x: true, y: false } },
    legend: { live: true },
    scales: {
      x: { time: !isElapsed, range: [span.from, span.to] },
      y: { range: (_plot, _min, max) => [0, highest(max, thresholds)] },
    },
    axes: [
      { ...axis, ...(isElapsed ? axisOf(elapsed) : timeAxis) },
      { ...axis, ...axisOf(unit), size: 64 },
    ],
    series: [
      {
        label: isElapsed ? "After" : "Time",
        value: (_plot, value: number | null) => (value === null ? "" : timeWords(value, isElapsed)),
      },
      ...lines.map((line) => ({
        label: line.label,
        stroke: colour(line.colour),
        width: 1.5,
        ...(line.isArea === true && { fill: withAlpha(colour(line.colour)) }),
        ...(line.dash !== undefined && { dash: line.dash }),
        points: {
          show: true,
          size: 6,
          fill: colour(line.colour),
          filter: () => indexesOfPoints(line.values),
        },
        value: (_plot: uPlot, value: number | null) =>
          value === null ? "none" : unit.words(value),
      })),
    ],
    hooks: {
      draw: [(plot) => drawThresholds(plot, thresholds, colour)],
      ready: [showLast],
      setCursor: [(plot) => plot.cursor.idx == null && showLast(plot)],
    },
  };
}

const timeAxis: uPlot.Axis = {
  space: 84,
  values: (_plot, seconds, _axis, _space, step) => timeLabels(seconds, step),
};

function axisOf({ steps, labels }: Unit): uPlot.Axis {
  return { incrs: [...steps], values: (_plot, values) => labels(values) };
}

/** The legend has the newest values unless the pointer is at others. */
function showLast(plot: uPlot): void {
  const [, ...lines] = plot.data;
  const idx = Math.max(...lines.map((values) => values.findLastIndex((value) => value != null)));
  if (idx >= 0) plot.setLegend({ idx });
}

/** A line of few points is hardly visible, and one point between two gaps not at all: these are drawn, too. */
function indexesOfPoints(values: Line["values"]): number[] {
  const found = values.flatMap((value, i) => (value === null || value === 0 ? [] : [i]));
  const isAlone = (i: number) => values[i - 1] == null && values[i + 1] == null;
  return found.length < 40 ? found : found.filter(isAlone);
}

function timeWords(seconds: number, isElapsed: boolean): string {
  return isElapsed ? elapsed.words(seconds) : when(new Date(seconds * 1_000).toISOString());
}

/** A threshold far above all values would flatten the lines: the axis then does not include it. */
function highest(max: number | null, thresholds: readonly Threshold[]): number {
  const top = Math.max(max ?? 0, 1);
  const near = thresholds.map(({ value }) => value).filter((value) => value <= top * 4);
  return Math.max(top, ...near) * 1.1;
}

function withAlpha(hex: string): string {
  return `${hex}38`;
}

function drawThresholds(
  plot: uPlot,
  thresholds: readonly Threshold[],
  colour: (name: string) => string,
): void {
  const { ctx, bbox } = plot;
  ctx.save();
  for (const { label, value, colour: name } of thresholds) {
    const y = plot.valToPos(value, "y", true);
    if (y < bbox.top) continue;
    ctx.strokeStyle = colour(name);
    ctx.fillStyle = colour(name);
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textAlign = "right";
    ctx.textBaseline = "bottom";
    ctx.fillText(label, bbox.left + bbox.width - 4, y - 4 * devicePixelRatio);
  }
  ctx.restore();
}
