/** One region of the fleet: a cell per sentinel, reached by pointer and by arrow keys. */
import { signal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { SentinelMark } from "#console/contract.ts";
import { type Fleet, onCells } from "#console/web/live.ts";
import { type Colours, drawMark, markColours } from "#console/web/parts/marks.ts";
import { colour, paint } from "#console/web/theme.ts";

/** The sentinel under the pointer or the keyboard's focus, and its position in the window. */
export const pointed = signal<
  { index: number; left: number; top: number; bottom: number } | undefined
>(undefined);

/** The sentinel whose details are shown. */
export const picked = signal<number | undefined>(undefined);

type Props = { fleet: Fleet; name: string; first: number; count: number; width: number };

export function Region({ fleet, name, first, count, width }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const painter = useRef<Painter | undefined>(undefined);
  const layout = layOut(count, fleet.ids.length, width);
  const [focused, setFocused] = useState<number>();
  usePainting({ canvas, painter, fleet, first, count, layout });

  const at = (event: MouseEvent) => indexAt(event, { layout, first, count });
  const focus = (index: number | undefined) => {
    setFocused(index);
    pointed.value =
      index === undefined
        ? undefined
        : { index, ...placeOf(canvas.current, layout, index - first) };
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      picked.value = focused;
      return;
    }
    const next = stepFrom(event.key, { fleet, first, count, layout, from: focused ?? first });
    if (next === undefined) return;
    event.preventDefault();
    focus(next);
  };

  return (
    <div class="cells">
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: one stop of the Tab key; arrow keys walk over its cells */}
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-roledescription="sentinel grid"
        aria-label={`${name}: ${count} sentinels. Arrow keys move, F goes to the next failed one, Enter shows details.`}
        aria-describedby="pointed"
        onKeyDown={onKey}
        onFocus={() => focus(focused ?? first)}
        onBlur={() => {
          pointed.value = undefined;
        }}
        onPointerMove={(event) => focusOnPointer(at(event), canvas.current, { layout, first })}
        onPointerLeave={() => {
          pointed.value = undefined;
        }}
        onClick={(event) => {
          picked.value = at(event);
          setFocused(at(event));
        }}
      />
      <FocusRing layout={layout} place={focused === undefined ? undefined : focused - first} />
    </div>
  );
}

/** Drawn over the canvas; only visible to keyboard users. */
function FocusRing({ layout, place }: { layout: Layout; place: number | undefined }) {
  if (place === undefined) return null;
  const left = (place % layout.columns) * layout.pitch - 2;
  const top = Math.floor(place / layout.columns) * layout.pitch - 2;
  const side = layout.size + 4;
  return (
    <span
      class="ring"
      style={{ left: `${left}px`, top: `${top}px`, width: `${side}px`, height: `${side}px` }}
    />
  );
}

type RegionPicture = {
  canvas: { current: HTMLCanvasElement | null };
  painter: { current: Painter | undefined };
  fleet: Fleet;
  first: number;
  count: number;
  layout: Layout;
};

function usePainting({ canvas, painter, fleet, first, count, layout }: RegionPicture): void {
  const repaint = () => {
    if (canvas.current === null) return;
    painter.current = createPainter(canvas.current, layout);
    painter.current.all(fleet, first, count);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: what the layout consists of stands for it
  useEffect(repaint, [fleet, first, count, layout.columns, layout.pitch]);
  useSignalEffect(() => {
    if (paint.value > 0) repaint();
  });
  useEffect(() => {
    let waiting: number[] = [];
    const flush = () => {
      for (const index of waiting) painter.current?.cell(fleet, first, index);
      waiting = [];
    };
    return onCells((indexes) => {
      const ours = indexes.filter((index) => index >= first && index < first + count);
      if (ours.length === 0) return;
      if (waiting.length === 0) requestAnimationFrame(flush);
      waiting.push(...ours);
    });
  }, [fleet, first, count, painter]);
}

type Where = { layout: Layout; first: number; count: number };

function indexAt(event: MouseEvent, { layout, first, count }: Where): number | undefined {
  const { columns, pitch } = layout;
  const column = Math.floor(event.offsetX / pitch);
  const place = Math.floor(event.offsetY / pitch) * columns + column;
  return column < columns && place >= 0 && place < count ? first + place : undefined;
}

function focusOnPointer(
  index: number | undefined,
  canvas: HTMLCanvasElement | null,
  { layout, first }: { layout: Layout; first: number },
): void {
  if (index === undefined) pointed.value = undefined;
  else if (pointed.value?.index !== index) {
    pointed.value = { index, ...placeOf(canvas, layout, index - first) };
  }
}

/** The position of a cell in the window. */
function placeOf(canvas: HTMLCanvasElement | null, layout: Layout, place: number) {
  const box = canvas?.getBoundingClientRect();
  const left = (box?.left ?? 0) + (place % layout.columns) * layout.pitch;
  const top = (box?.top ?? 0) + Math.floor(place / layout.columns) * layout.pitch;
  return { left: left + layout.size / 2, top, bottom: top + layout.size };
}

type Step = { fleet: Fleet; first: number; count: number; layout: Layout; from: number };

function stepFrom(key: string, where: Step): number | undefined {
  const { first, count, layout, from } = where;
  const last = first + count - 1;
  const steps: Record<string, number> = {
    ArrowRight: from + 1,
    ArrowLeft: from - 1,
    ArrowDown: from + layout.columns,
    ArrowUp: from - layout.columns,
    Home: first,
    End: last,
    PageDown: Math.min(last, from + layout.columns * 10),
    PageUp: Math.max(first, from - layout.columns * 10),
  };
  const to = key === "f" || key === "F" ? nextFailed(where) : steps[key];
  return to !== undefined && to >= first && to <= last ? to : undefined;
}

function nextFailed({ fleet, first, count, from }: Step): number | undefined {
  for (let step = 1; step <= count; step++) {
    const index = first + ((from - first + step) % count);
    const mark = fleet.marks[index];
    if (mark === "f" || mark === "n" || mark === "x") return index;
  }
  return undefined;
}

/** Cells of a region in rows of `columns`, `pitch` CSS pixels apart. */
type Layout = { columns: number; rows: number; pitch: number; size: number };

const marks = Object.keys(markColours) as SentinelMark[];

/** Cells are smaller in larger fleets, so that a fleet fits on a few screens. */
function layOut(count: number, fleetSize: number, width: number): Layout {
  const pitch = pitchOf(fleetSize, width);
  const columns = Math.max(1, Math.floor(width / pitch));
  const size = pitch - (pitch >= 14 ? 3 : 2);
  return { columns, rows: Math.ceil(count / columns), pitch, size };
}

function pitchOf(fleetSize: number, width: number): number {
  if (fleetSize <= 60) return 30;
  if (fleetSize <= 400) return 20;
  if (fleetSize <= 2_500) return 14;
  return width < 600 ? 8 : 10;
}

type Painter = ReturnType<typeof createPainter>;

function createPainter(canvas: HTMLCanvasElement, layout: Layout) {
  const ratio = Math.max(1, devicePixelRatio);
  const { columns, rows, pitch, size } = layout;
  canvas.width = Math.round(columns * pitch * ratio);
  canvas.height = Math.round(rows * pitch * ratio);
  canvas.style.width = `${columns * pitch}px`;
  canvas.style.height = `${rows * pitch}px`;
  const pen = canvas.getContext("2d");
  const sprites = drawSprites(size, ratio);
  const step = pitch * ratio;

  const cell = (fleet: Fleet, first: number, index: number) => {
    const place = index - first;
    const x = Math.round((place % columns) * step);
    const y = Math.round(Math.floor(place / columns) * step);
    pen?.clearRect(x, y, Math.ceil(step), Math.ceil(step));
    const sprite = sprites.get(fleet.marks[index] ?? "o");
    if (sprite !== undefined) pen?.drawImage(sprite, x, y);
  };

  return {
    cell,
    all: (fleet: Fleet, first: number, count: number) => {
      pen?.clearRect(0, 0, canvas.width, canvas.height);
      for (let index = first; index < first + count; index++) cell(fleet, first, index);
    },
  };
}

function drawSprites(size: number, ratio: number): Map<SentinelMark, OffscreenCanvas> {
  const named = marks.map((mark) => [mark, colour(markColours[mark])]);
  const colours = { ...Object.fromEntries(named), on: colour("surface") } as Colours;
  const pixels = Math.max(1, Math.round(size * ratio));
  return new Map(
    marks.map((mark) => {
      const sprite = new OffscreenCanvas(pixels, pixels);
      const pen = sprite.getContext("2d") as unknown as CanvasRenderingContext2D;
      drawMark(pen, mark, { size: pixels, colours });
      return [mark, sprite];
    }),
  );
}
