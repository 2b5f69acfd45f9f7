/** The name, colour and shape of each mark. Each shape is different, so that marks do not depend on colour. */
import type { SentinelMark } from "#console/contract.ts";

export const markNames: Record<SentinelMark, string> = {
  w: "Not deployed",
  p: "Deploying",
  s: "Succeeded",
  f: "Failed",
  r: "Reverted",
  n: "Not reverted",
  l: "Left out",
  o: "Not in this rollout",
  x: "Not in this rollout, failed before",
};

/** The same where there was no rollout yet. */
export const namesWithoutRollout: Record<SentinelMark, string> = {
  ...markNames,
  o: "Sentinels",
  x: "Last deploy failed",
};

export const markColours: Record<SentinelMark, string> = {
  w: "line-strong",
  p: "info-fill",
  s: "good-fill",
  f: "bad-fill",
  r: "calm-fill",
  n: "warn-fill",
  l: "line-strong",
  o: "line",
  x: "bad-fill",
};

export type Colours = Record<SentinelMark, string> & { on: string };

/** Draws a mark into a square of `size` with its corner at 0, 0. */
export function drawMark(
  pen: CanvasRenderingContext2D,
  mark: SentinelMark,
  { size, colours }: { size: number; colours: Colours },
): void {
  const colour = colours[mark];
  const thin = Math.max(1, size / 9);
  pen.fillStyle = colour;
  pen.strokeStyle = colour;
  pen.lineWidth = thin;
  shapes[mark]({ pen, size, thin, on: colours.on });
}

type Shape = { pen: CanvasRenderingContext2D; size: number; thin: number; on: string };

const shapes: Record<SentinelMark, (shape: Shape) => void> = {
  w: outline,
  p: (shape) => {
    outline(shape);
    const { pen, size } = shape;
    pen.fillRect(0, size / 2, size, size / 2);
  },
  s: ({ pen, size }) => pen.fillRect(0, 0, size, size),
  f: (shape) => {
    shape.pen.fillRect(0, 0, shape.size, shape.size);
    cross({ ...shape, colour: shape.on });
  },
  r: ({ pen, size }) => {
    pen.fillRect(0, 0, size, size * 0.36);
    pen.fillRect(0, size * 0.64, size, size * 0.36);
  },
  n: ({ pen, size }) => {
    pen.fillRect(0, 0, size * 0.36, size);
    pen.fillRect(size * 0.64, 0, size * 0.36, size);
  },
  l: ({ pen, size }) => pen.fillRect(0, size * 0.34, size, size * 0.32),
  o: ({ pen, size }) => pen.fillRect(size * 0.3, size * 0.3, size * 0.4, size * 0.4),
  x: (shape) => {
    outline(shape);
    cross({ ...shape, colour: String(shape.pen.strokeStyle) });
  },
};

function outline({ pen, size, thin }: Shape): void {
  pen.strokeRect(thin / 2, thin / 2, size - thin, size - thin);
}

function cross({ pen, size, thin, colour }: Shape & { colour: string }): void {
  pen.strokeStyle = colour;
  pen.lineWidth = thin * 1.4;
  pen.beginPath();
  pen.moveTo(size * 0.24, size * 0.24);
  pen.lineTo(size * 0.76, size * 0.76);
  pen.moveTo(size * 0.76, size * 0.24);
  pen.lineTo(size * 0.24, size * 0.76);
  pen.stroke();
}
