/** A badge with the status of a check, for a README or a dashboard. */
import { checkWords } from "#kernel/words.ts";
import type { CheckView } from "./contract.ts";

/** Text on each colour has a contrast of at least 4.5 to 1. */
const colours: Record<CheckView["status"], string> = {
  ok: "#1a7f37",
  degraded: "#9a6700",
  failed: "#cf222e",
  late: "#9a6700",
  silent: "#59636e",
  pending: "#59636e",
  paused: "#59636e",
};

/** An SVG of 20 pixels in height: the name on the left, the status on the right. */
export function drawBadge({
  name,
  status,
  suppressed_by: by,
}: Pick<CheckView, "name" | "status" | "suppressed_by">): string {
  const word = checkWords[status];
  const text = by == null ? word : `${word} behind ${by}`;
  const left = widthOf(name);
  const right = widthOf(text);
  const label = escapeXml(`${name}: ${text}`);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="20" role="img" aria-label="${label}">
<title>${label}</title>
<clipPath id="r"><rect width="${left + right}" height="20" rx="3"/></clipPath>
<g clip-path="url(#r)"><rect width="${left}" height="20" fill="#3d444d"/><rect x="${left}" width="${right}" height="20" fill="${colours[status]}"/></g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">
<text x="${left / 2}" y="14" textLength="${left - 12}">${escapeXml(name)}</text>
<text x="${left + right / 2}" y="14" textLength="${right - 12}">${text}</text>
</g>
</svg>
`;
}

/** An estimate of the width in the font; `textLength` fits the text to it. */
function widthOf(text: string): number {
  return Math.round([...text].length * 6.6) + 12;
}

function escapeXml(text: string): string {
  const names: Record<string, string> = {
    "&": "amp",
    "<": "lt",
    ">": "gt",
    '"': "quot",
    "'": "#39",
  };
  return text.replace(/[&<>"']/g, (character) => `&${names[character]};`);
}
