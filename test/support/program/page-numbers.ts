/** The numbers of a rollout's page, as somebody reads them there, and whether they agree. */

/** The texts of the page that have numbers in them. */
export type Texts = {
  title: string;
  tiles: Record<string, string>;
  waves: string[];
  legend: Record<string, number>;
  regions: string[];
};

/** Runs in the page. Nothing is drawn in between: all is of the same moment. */
export const textsOfPage = `(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const tile = (one) => [one.querySelector("dt").textContent, one.querySelector("dd").textContent];
  const entry = (one) => {
    const number = one.querySelector("b").textContent;
    const name = one.textContent.slice(0, -number.length).trim();
    return [name, Number(number.replaceAll(",", ""))];
  };
  return {
    title: document.querySelector("h1")?.textContent ?? "",
    tiles: Object.fromEntries(all(".tiles > div").map(tile)),
    waves: all(".wave-count").map((one) => one.textContent),
    legend: Object.fromEntries(all(".legend li").map(entry)),
    regions: all(".region h3").map((one) => one.textContent),
  };
})`;

export type PageNumbers = {
  isRunning: boolean;
  done: number;
  total: number;
  succeeded: number;
  failed: number;
  deploying: number;
  leftOut: number;
};

export function readNumbers({ title, tiles }: Texts): PageNumbers {
  const tile = (name: string) => numberIn(tiles[name] ?? "0");
  return {
    isRunning: /^(?:In progress|Rolling back|Waiting|Soaking)/.test(title),
    done: tile("Done"),
    total: numberIn(/of ([\d,]+)/.exec(tiles["Done"] ?? "")?.[1] ?? "0"),
    succeeded: tile("Succeeded"),
    failed: tile("Failed"),
    deploying: tile("In flight"),
    leftOut: tile("Left out"),
  };
}

/** What it is, and two numbers for it. */
type Fact = [what: string, one: number, other: number];

/** A page that has just been drawn has no regions yet: how wide they are is not known. */
function ofRegions(texts: Texts): Fact[] {
  const { done, total, failed } = readNumbers(texts);
  const { regions } = texts;
  return [
    ["done: tile and regions", done, sumOf(regions, /([\d,]+) of [\d,]+ done/)],
    ["total: tile and regions", total, sumOf(regions, /of ([\d,]+) done/)],
    ["failed: tile and regions", failed, sumOf(regions, /([\d,]+) failed/)],
  ];
}

/** What one part of the page says and another one does not, one line each. */
export function findDisagreements(texts: Texts): string[] {
  const { tiles, waves, legend, regions, title } = texts;
  // No rollout is shown yet, or the fleet of this one is not listed yet.
  if (tiles["Done"] === undefined) return [];
  const { done, total, failed, leftOut, deploying, succeeded, isRunning } = readNumbers(texts);
  const named = (...names: string[]) => names.reduce((sum, name) => sum + (legend[name] ?? 0), 0);
  const results = named("Succeeded", "Failed", "Reverted", "Not reverted");
  const inWaves = sumOf(waves, /^([\d,]+) \//);
  const heldBack = sumOf(waves, /([\d,]+) left out/);
  const facts: Fact[] = [
    ...(regions.length === 0 ? [] : ofRegions(texts)),
    ["done: tile and legend", done, results - failed],
    ["done: tile and waves", done, inWaves],
    ["total: tile and waves", total, sumOf(waves, /\/ ([\d,]+)/)],
    ["total: tile and legend", total, results + named("Deploying", "Not deployed") + heldBack],
    ["succeeded: tile and legend", succeeded, named("Succeeded")],
    ["failed: tile and waves", failed, sumOf(waves, /([\d,]+) failed/)],
    ["left out: tile and legend", leftOut, named("Left out")],
    ...(isRunning ? [["in flight: tile and legend", deploying, named("Deploying")] as Fact] : []),
    ...(title.startsWith("Completed")
      ? [["completed: done and total", done + failed + heldBack, total] as Fact]
      : []),
  ];
  return facts
    .filter(([, one, other]) => one !== other)
    .map(([what, one, other]) => `${what}: ${one} and ${other} in ${JSON.stringify(texts)}`);
}

/** Of what each text has at this place; a text without it has none. */
function sumOf(texts: readonly string[], pattern: RegExp): number {
  return texts.reduce((sum, text) => sum + numberIn(pattern.exec(text)?.[1] ?? "0"), 0);
}

function numberIn(text: string): number {
  return Number(/^[\d,]+/.exec(text)?.[0].replaceAll(",", "") ?? Number.NaN);
}
