/** The form of a new rollout. */
import { rollout } from "#console/web/live.ts";
import { Field } from "#console/web/parts/field.tsx";
import { useRead } from "#console/web/use-read.ts";
import { FailureFields } from "./failure-fields.tsx";
import type { StartFields } from "./request.ts";

/** Focuses the first field, because the operator has opened the form to type. */
const focusOnce = (field: HTMLInputElement | null) => field?.focus();

type Props = {
  fields: StartFields;
  change: (part: Partial<StartFields>) => void;
  show: () => void;
  error: string | undefined;
};

export function StartForm({ fields, change, show, error }: Props) {
  const running = rollout.value?.status.image ?? "registry.example.com/vedette/sentinel:v1";
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        show();
      }}
    >
      <Field name="Image" hint={`{registry}/{repository}:{tag}. Last image: ${running}`}>
        <input
          class="mono"
          name="image"
          ref={focusOnce}
          required
          autoComplete="off"
          spellcheck={false}
          value={fields.image}
          onInput={(event) => change({ image: event.currentTarget.value })}
        />
      </Field>
      <Field name="Waves" hint="Cumulative percent of the fleet after each wave; the last is 100.">
        <input
          name="waves"
          inputMode="numeric"
          autoComplete="off"
          value={fields.waves}
          onInput={(event) => change({ waves: event.currentTarget.value })}
        />
      </Field>
      <GateFields fields={fields} change={change} />
      <FailureFields fields={fields} change={change} />
      {error !== undefined && (
        <p role="alert" class="refused">
          {error}
        </p>
      )}
      <div class="row">
        <button type="submit">Show the plan</button>
      </div>
    </form>
  );
}

function GateFields({ fields, change }: Pick<Props, "fields" | "change">) {
  const { data } = useRead("checks", {});
  const checks = data?.checks.filter(({ kind }) => kind === "api") ?? [];
  if (checks.length === 0) return null;
  const toggle = (id: string, isOn: boolean) =>
    change({ checks: isOn ? [...fields.checks, id] : fields.checks.filter((one) => one !== id) });
  return (
    <fieldset>
      <legend>Gate between waves</legend>
      {checks.map(({ id, name }) => (
        <label class="tick" key={id}>
          <input
            type="checkbox"
            checked={fields.checks.includes(id)}
            onChange={(event) => toggle(id, event.currentTarget.checked)}
          />
          {name}
        </label>
      ))}
      {fields.checks.length > 0 && <GateNumbers fields={fields} change={change} />}
    </fieldset>
  );
}

function GateNumbers({ fields, change }: Pick<Props, "fields" | "change">) {
  return (
    <div class="pair">
      <label>
        <span class="label">Clean runs of each</span>
        <input
          type="number"
          min={1}
          max={100}
          value={fields.cleanRuns}
          onInput={(event) => change({ cleanRuns: event.currentTarget.valueAsNumber })}
        />
      </label>
      <label>
        <span class="label">Pause after (seconds)</span>
        <input
          type="number"
          min={10}
          max={86_400}
          value={fields.timeoutSeconds}
          onInput={(event) => change({ timeoutSeconds: event.currentTarget.valueAsNumber })}
        />
      </label>
    </div>
  );
}
