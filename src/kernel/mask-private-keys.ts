/** Masks private keys over several lines, also where a log has a part of one only, or its own words before each line. */

const mask = "***";

/** PEM (RFC 7468), OpenSSH and PGP (RFC 9580) write it so. */
const edge = /-----(BEGIN|END) [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;

/** More lines than any key has: these are two parts of different ones. */
const mostLines = 200;

/** No word of a sentence is so long. A backslash: of a line end within JSON. */
const longRun = /[A-Za-z\d+/=\\]{24,}/g;
const run = /^[A-Za-z\d+/=\\]+$/;

export function maskPrivateKeys(text: string): string {
  const edges = [...text.matchAll(edge)];
  if (edges.length === 0) return text;
  const parts: string[] = [];
  let before: RegExpExecArray | undefined;
  for (const after of [...edges, undefined]) {
    const from = before === undefined ? 0 : before.index + before[0].length;
    const between = text.slice(from, after?.index);
    parts.push(maskBetween(between, before?.[1] === "BEGIN", after?.[1] === "END"));
    if (after !== undefined) parts.push(after[0]);
    before = after;
  }
  return parts.join("");
}

function maskBetween(text: string, hasBegin: boolean, hasEnd: boolean): string {
  if (!hasBegin && !hasEnd) return text;
  const lines = text.split("\n");
  if (hasBegin && hasEnd && lines.length <= mostLines) return mask;
  const forward = hasBegin ? maskBody(lines) : lines;
  return (hasEnd ? maskBody(forward.toReversed()).toReversed() : forward).join("\n");
}

/** Masks lines that start beside an edge, in either direction: the last one of a key is shorter than the others. */
function maskBody(lines: readonly string[]): string[] {
  let isInside = true;
  return lines.map((line, at) => {
    const masked = line.replace(longRun, mask);
    if (masked !== line) isInside = true;
    // The rest of an edge's own line may be what the log has before each line.
    if (masked !== line || at === 0 || !isInside || line.trim() === "") return masked;
    const { first, last } = splitLastWord(line.trimEnd());
    const isBody = run.test(last);
    isInside = isBody && first.trim() === "";
    return isBody ? `${first}${mask}` : line;
  });
}

function splitLastWord(line: string): { first: string; last: string } {
  const at = Math.max(line.lastIndexOf(" "), line.lastIndexOf("\t")) + 1;
  return { first: line.slice(0, at), last: line.slice(at) };
}
