/** The fields of a new rollout about the gate between its waves. */
import { Fault, Field } from "#console/web/parts/field.tsx";
import { type FormPart, faultOf, markOf } from "#console/web/parts/text-field.tsx";
import { useRead } from "#console/web/use-read.ts";
import { offWords } from "#kernel/words.ts";
import type { CheckView } from "#monitor/results/contract.ts";
import type { StartFields } from "./request.ts";

type Part = FormPart<StartFields>;

export function GateFields(part: Part) {
  const { fields, faults, change } = part;
  const { data } = useRead("CheckReads/List", {});
  const checks = data?.checks.filter(({ kind }) => kind === "api") ?? [];
  if (checks.length === 0) return null;
  const toggle = (id: string, isOn: boolean) =>
    change({ checks: isOn ? [...fields.checks, id] : fields.checks.filter((one) => one !== id) });
  return (
    <fieldset>
      <legend>Gate between waves</legend>
      {checks.map((check) => (
        <CheckTick
          key={check.id}
          check={check}
          fault={markOf("checks", faults)}
          isOn={fields.checks.includes(check.id)}
          toggle={(isOn) => toggle(check.id, isOn)}
        />
      ))}
      <Fault fault={faultOf("checks", faults)} />
      {fields.checks.length > 0 && <GateNumbers {...part} />}
    </fieldset>
  );
}

type TickProps = {
  check: CheckView;
  fault: ReturnType<typeof markOf>;
  isOn: boolean;
  toggle: (isOn: boolean) => void;
};

/** A gate with a check that is off would be refused; one that has been chosen already can be left out. */
function CheckTick({ check, fault, isOn, toggle }: TickProps) {
  const off = offWords(check);
  const isRefused = (check.missing_settings ?? []).length > 0;
  return (
    <label class="tick">
      <input
        {...fault}
        type="checkbox"
        checked={isOn}
        disabled={isRefused && !isOn}
        onChange={(event) => toggle(event.currentTarget.checked)}
      />
      {check.name}
      {off !== undefined && <span class="quiet">{off}</span>}
    </label>
  );
}

function GateNumbers(part: Part) {
  return (
    <div class="pair">
      <GateNumber {...part} of="cleanRuns" name="Clean runs of each" min={1} max={100} />
      <GateNumber
        {...part}
        of="timeoutSeconds"
        name="Pause after (seconds)"
        min={10}
        max={86_400}
      />
    </div>
  );
}

type NumberProps = Part & {
  of: "cleanRuns" | "timeoutSeconds";
  name: string;
  min: number;
  max: number;
};

function GateNumber({ fields, faults, change, of, name, min, max }: NumberProps) {
  return (
    <Field name={name} fault={faultOf(of, faults)}>
      <input
        {...markOf(of, faults)}
        type="number"
        min={min}
        max={max}
        value={fields[of]}
        onInput={(event) => change({ [of]: event.currentTarget.valueAsNumber })}
      />
    </Field>
  );
}
