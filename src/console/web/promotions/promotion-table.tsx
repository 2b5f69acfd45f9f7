/** The promotions, each with a button that removes it. */
import { titleOf } from "#console/web/chosen-fleet.ts";
import { RowTable } from "#console/web/rows/row-table.tsx";
import type { ListedPromotion } from "#rollout/promotions/contract.ts";

type Props = { promotions: readonly ListedPromotion[]; reload: () => void };

export function PromotionTable({ promotions, reload }: Props) {
  return (
    <RowTable
      word="promotion"
      title="Fleets that wait for others"
      none="There are no promotions: each fleet takes any image."
      rows={promotions}
      columns={[{ name: "After", of: ({ after }) => titleOf(after) }]}
      removal={({ id, fleet, after }) => ({
        title: `Remove the promotion ${id}?`,
        lines: [`${titleOf(fleet)} then takes images that ${titleOf(after)} has not completed.`],
      })}
      reload={reload}
    />
  );
}
