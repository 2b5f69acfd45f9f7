/** Shows how many sentinels of each region run which image. */
import { count, sentinels, shortImage } from "#console/web/format.ts";
import { rollout } from "#console/web/live.ts";
import { Panel } from "#console/web/parts/blocks.tsx";
import type { FleetOverview } from "#fleet/overview/contract.ts";
import { isSameImage } from "#kernel/image-reference.ts";
import { shareOf, type VersionTable as Table, tabulate } from "./versions.ts";

type Props = {
  overview: FleetOverview;
  /** Shows those of one cell in the list; null: of all regions. */
  show: (region: string | null, image: string) => void;
};

export function VersionTable({ overview, show }: Props) {
  const table = tabulate(overview.versions);
  return (
    <Panel
      title="What runs, by region"
      beside={
        overview.more_regions > 0 && (
          <span class="quiet">{count(overview.more_regions)} more regions are not shown</span>
        )
      }
    >
      <div class="scroll">
        <table class="cards versions">
          <thead>
            <tr>
              <th>Region</th>
              <th class="number">Sentinels</th>
              {table.images.map((image) => (
                <th key={image} title={image ?? undefined}>
                  {image === null ? "Others" : <ImageHead image={image} />}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {table.rows.map((row) => (
              <Row key={row.region ?? ""} row={row} images={table.images} show={show} />
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function ImageHead({ image }: { image: string }) {
  const isNewest = isSameImage(rollout.value?.status.image ?? "", image);
  return (
    <>
      <span class="mono">{shortImage(image)}</span>{" "}
      {isNewest && <span class="tag t-info">newest rollout</span>}
    </>
  );
}

type RowProps = Pick<Table, "images"> & Pick<Props, "show"> & { row: Table["rows"][number] };

function Row({ row, images, show }: RowProps) {
  const { region, size, counts } = row;
  return (
    <tr class={region === null ? "whole" : undefined}>
      <td data-name="Region" class="nowrap">
        <b>{region ?? "All regions"}</b>
      </td>
      <td data-name="Sentinels" class="number">
        {count(size)}
      </td>
      {images.map((image, i) => (
        <td key={image} data-name={image === null ? "Others" : shortImage(image)}>
          <Cell
            {...{ image, size, place: region === null ? "in all regions" : `in ${region}` }}
            part={counts[i] ?? 0}
            show={image === null ? undefined : () => show(region, image)}
          />
        </td>
      ))}
    </tr>
  );
}

type CellProps = {
  image: string | null;
  place: string;
  part: number;
  size: number;
  /** undefined: these are of many images, which no filter names. */
  show: (() => void) | undefined;
};

function Cell({ image, place, part, size, show }: CellProps) {
  if (part === 0) return <span class="quiet">0</span>;
  const share = shareOf(part, size);
  const words = `Show the ${sentinels(part)} ${place} with ${shortImage(image ?? "")}`;
  return (
    <span class="share">
      {show === undefined ? (
        <span>{count(part)}</span>
      ) : (
        <button type="button" class="link" aria-label={words} onClick={show}>
          {count(part)}
        </button>
      )}
      <span class="quiet">{share}</span>
      <span class="track" aria-hidden="true">
        <i class="b-info" style={{ width: `${(part * 100) / size}%` }} />
      </span>
    </span>
  );
}
