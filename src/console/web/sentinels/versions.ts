/** The table of what runs where, by region and image. Pure. */
import type { FleetOverview } from "#fleet/overview/contract.ts";

/** null: all images without a column of their own. */
type Image = string | null;

export type VersionTable = {
  /** The most frequent first, the others together last. */
  images: Image[];
  rows: { region: string | null; size: number; counts: number[] }[];
};

/** The first row is the whole fleet, if there are several regions. */
export function tabulate(versions: FleetOverview["versions"]): VersionTable {
  const totals = new Map<Image, number>();
  for (const { image, count } of versions) totals.set(image, (totals.get(image) ?? 0) + count);
  const images = [...totals.keys()].sort(
    (a, b) =>
      Number(a === null) - Number(b === null) || (totals.get(b) ?? 0) - (totals.get(a) ?? 0),
  );
  const rowOf = (region: string | null, counts: number[]) => ({
    region,
    size: sum(counts),
    counts,
  });
  const rows = [...Map.groupBy(versions, ({ region }) => region)].map(([region, members]) => {
    const found = new Map(members.map(({ image, count }) => [image, count]));
    return rowOf(
      region,
      images.map((image) => found.get(image) ?? 0),
    );
  });
  const all = rowOf(
    null,
    images.map((image) => totals.get(image) ?? 0),
  );
  return { images, rows: rows.length > 1 ? [all, ...rows] : rows };
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

/** Rounded so that neither all nor none is said of a part: 99 % is not everything. */
export function shareOf(part: number, whole: number): string {
  if (part === 0 || whole === 0) return "0 %";
  const share = (part * 100) / whole;
  if (share < 1) return "< 1 %";
  return part === whole ? "100 %" : `${Math.min(99, Math.round(share))} %`;
}
