/** Which fleet takes an image only after another one. */
import { fleetNames, titleOf } from "#console/web/chosen-fleet.ts";
import { may, mayRollOut } from "#console/web/may.ts";
import { Field } from "#console/web/parts/field.tsx";
import { Notice, Waiting } from "#console/web/parts/notice.tsx";
import { type FormPart, faultOf, TextField } from "#console/web/parts/text-field.tsx";
import { RowForm, type RowKind } from "#console/web/rows/row-form.tsx";
import { RowTable } from "#console/web/rows/row-table.tsx";
import { useRead } from "#console/web/use-read.ts";
import type { ListedPromotion } from "#rollout/promotions/contract.ts";

export function PromotionsPage() {
  const { data, error, reload } = useRead("RolloutPromotions/List", {}, 10_000);
  if (data === undefined) return <Waiting error={error} />;
  return (
    <>
      <div class="page-head">
        <div>
          <h1>Promotions</h1>
          <p>Which fleet takes an image only after another one has completed it.</p>
        </div>
      </div>
      {error !== undefined && <Notice tone="warn">{error}</Notice>}
      <div class="sides">
        <PromotionTable promotions={data.promotions} reload={reload} />
        {may("operate") && <PromotionForm reload={reload} />}
      </div>
    </>
  );
}

type Props = { promotions: readonly ListedPromotion[]; reload: () => void };

/** The promotions, each with a button that removes it. */
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

const paths = { id: "id", fleet: "fleet", after: "after", reason: "reason" };

/** The form of a new promotion. */
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
    paths,
    inputs: PromotionInputs,
    toRow: (fields) => ({ ...fields, id: fields.id.trim(), reason: fields.reason.trim() }),
    describe: ({ fleet, after }) => `${titleOf(fleet)} takes an image after ${titleOf(after)}`,
    namesItsFleet: true,
  };
  return <RowForm kind={promotion} reload={reload} />;
}

/** Whose rollouts the operator may change. */
const ownFleets = () => fleetNames().filter(mayRollOut);

function PromotionInputs(part: FormPart<PromotionFields>) {
  const input = { required: true, spellcheck: false };
  return (
    <>
      <div class="pair">
        <FleetField
          part={part}
          of="fleet"
          name="Fleet"
          hint="Its rollouts wait."
          offered={ownFleets()}
        />
        <FleetField
          part={part}
          of="after"
          name="After"
          hint="It has to complete the image first."
          offered={fleetNames()}
        />
      </div>
      <div class="pair">
        <TextField part={part} of="id" name="Name" hint="Such as staging-first." input={input} />
        <TextField
          part={part}
          of="reason"
          name="Reason"
          hint="Who is refused can read it."
          input={{ required: true, maxLength: 500 }}
        />
      </div>
    </>
  );
}

type FleetFieldProps = {
  part: FormPart<PromotionFields>;
  of: "fleet" | "after";
  name: string;
  hint: string;
  offered: readonly string[];
};

function FleetField({ part, of, name, hint, offered }: FleetFieldProps) {
  return (
    <Field name={name} hint={hint} fault={faultOf(of, part.faults)}>
      <select
        name={of}
        value={part.fields[of]}
        onChange={(event) => part.change({ [of]: event.currentTarget.value })}
      >
        {offered.map((fleet) => (
          <option key={fleet} value={fleet}>
            {titleOf(fleet)}
          </option>
        ))}
      </select>
    </Field>
  );
}
