/** A chart over time: the library draws it, with our theme, width and description. */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { day, duration } from "#console/web/format.ts";
import { theme } from "#console/web/theme.ts";

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
  format: (value: number) => string;
  /** Times are seconds since a start, not since 1970. */
  isElapsed?: boolean;
};

const height = 240;

export function Chart(props: Props) {
  const place = useRef<HTMLDivElement>(null);
  const { description, times, span, lines, thresholds = [], format, isElapsed = false } = props;
  const shown = JSON.stringify([times, span, lines, thresholds]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `shown` stands for what is drawn
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const data = [times, ...lines.map(({ values }) => values)] as uPlot.AlignedData;
    const plot = new uPlot(
      optionsFor(element, { span, lines, thresholds, format, isElapsed }),
      data,
      element,
    );
    const watcher = new ResizeObserver(() => {
      plot.setSize({ width: element.clientWidth, height });
    });
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [shown, theme.value]);

  return <div ref={place} class="chart" role="img" aria-label={description} />;
}

type Drawn = Required<Pick<Props, "span" | "lines" | "thresholds" | "format" | "isElapsed">>;

function optionsFor(element: HTMLElement, drawn: Drawn): uPlot.Options {
  const { span, lines, thresholds, format, isElapsed } = drawn;
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
    height,
    padding: [12, 8, 0, 0],
    cursor: { drag: { x: true, y: false } },
    legend: { live: true },
    scales: {
      x: { time: !isElapsed, range: [span.from, span.to] },
      y: { range: (_plot, _min, max) => [0, highest(max, thresholds)] },
    },
    axes: [
      isElapsed ? { ...axis, values: (_plot, values) => values.map(duration) } : axis,
      { ...axis, size: 64, values: (_plot, values) => values.map((value) => format(value)) },
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
        points: { show: isSparse(line), size: 6, fill: colour(line.colour) },
        value: (_plot: uPlot, value: number | null) => (value === null ? "–" : format(value)),
      })),
    ],
    hooks: { draw: [(plot) => drawThresholds(plot, thresholds, colour)] },
  };
}

function timeWords(seconds: number, isElapsed: boolean): string {
  return isElapsed ? duration(seconds) : day(new Date(seconds * 1_000).toISOString());
}

/** A threshold far above all values would flatten the lines: the axis then does not include it. */
function highest(max: number | null, thresholds: readonly Threshold[]): number {
  const top = Math.max(max ?? 0, 1);
  const near = thresholds.map(({ value }) => value).filter((value) => value <= top * 4);
  return Math.max(top, ...near) * 1.1;
}

/** A line of few points with gaps between them is hardly visible: its points are drawn, too. */
function isSparse({ values }: Line): boolean {
  return values.filter((value) => value !== null && value !== 0).length < 40;
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
    ctx.fillText(label, bbox.left + bbox.width - 4, y - 4 * devicePixelRatio);
  }
  ctx.restore();
}
