/** Shows which fleet takes an image only after another one. */
import { fleetNames, titleOf } from "#console/web/chosen-fleet.ts";
import { may, mayRollOut } from "#console/web/may.ts";
import { Waiting } from "#console/web/parts/blocks.tsx";
import { Entries, type FormPart, reason, required } from "#console/web/parts/form.tsx";
import { RowForm, type RowKind, RowPage, RowTable } from "#console/web/rows/rows.tsx";
import { useRead } from "#console/web/use-read.ts";
import type { ListedPromotion } from "#rollout/promotions/contract.ts";

export function PromotionsPage() {
  const { data, error, reload } = useRead("RolloutPromotions/List", {}, 10_000);
  if (data === undefined) return <Waiting error={error} />;
  return (
    <RowPage
      title="Promotions"
      about="Which fleet takes an image only after another one has completed it."
      error={error}
    >
      <PromotionTable promotions={data.promotions} reload={reload} />
      {may("operate") && <PromotionForm reload={reload} />}
    </RowPage>
  );
}

type Props = { promotions: readonly ListedPromotion[]; reload: () => void };

function PromotionTable({ promotions, reload }: Props) {
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

type PromotionFields = { id: string; fleet: string; after: string; reason: string };

function PromotionForm({ reload }: { reload: () => void }) {
  const [fleet] = ownFleets();
  if (fleet === undefined) {
    return <p class="quiet">The settings name other operators of each fleet.</p>;
  }
  const after = fleetNames().find((name) => name !== fleet) ?? "";
  const promotion: RowKind<PromotionFields, ListedPromotion> = {
    word: "promotion",
    about: "It holds for rollouts that are not started yet.",
    empty: { id: "", fleet, after, reason: "" },
    inputs: PromotionInputs,
    toRow: (fields) => ({ ...fields, id: fields.id.trim(), reason: fields.reason.trim() }),
    describe: ({ fleet, after }) => `${titleOf(fleet)} takes an image after ${titleOf(after)}`,
    namesItsFleet: true,
  };
  return <RowForm kind={promotion} reload={reload} />;
}

/** The fleets whose rollouts the operator may change. */
const ownFleets = () => fleetNames().filter(mayRollOut);

const namesOf = (fleets: readonly string[]) => fleets.map((name) => [name, titleOf(name)] as const);

function PromotionInputs(part: FormPart<PromotionFields>) {
  const after = "It has to complete the image first.";
  const why = "Who is refused can read it.";
  return (
    <Entries
      part={part}
      entries={[
        [
          { of: "fleet", name: "Fleet", hint: "Its rollouts wait.", options: namesOf(ownFleets()) },
          { of: "after", name: "After", hint: after, options: namesOf(fleetNames()) },
        ],
        [
          { of: "id", name: "Name", hint: "Such as staging-first.", input: required },
          { of: "reason", name: "Reason", hint: why, input: reason },
        ],
      ]}
    />
  );
}
