/** Paints the cells of one region: each mark is drawn once, and a cell is a copy of it. */
import type { SentinelMark } from "#console/contract.ts";
import type { Fleet } from "#console/web/live.ts";
import { type Colours, drawMark, markColours } from "#console/web/parts/marks.ts";
import { colour } from "#console/web/theme.ts";

/** Cells of a region in rows of `columns`, `pitch` CSS pixels apart. */
export type Layout = { columns: number; rows: number; pitch: number; size: number };

const marks = Object.keys(markColours) as SentinelMark[];

/** Cells are smaller in larger fleets, so that a fleet fits on a few screens. */
export function layOut(count: number, fleetSize: number, width: number): Layout {
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

export type Painter = ReturnType<typeof createPainter>;

export function createPainter(canvas: HTMLCanvasElement, layout: Layout) {
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
