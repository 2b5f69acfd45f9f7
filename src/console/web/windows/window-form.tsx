/** The form of a new window. What is wrong with a field is said at the field. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { change } from "#console/web/api.ts";
import { localZone } from "#console/web/local-time.ts";
import { Notice } from "#console/web/parts/notice.tsx";
import type { ListedWindow } from "#rollout/windows/contract.ts";
import { type Faults, faultsOf, toWindow, type WindowFields } from "./request.ts";
import { whenOf } from "./when.ts";
import { BoundFields, DailyFields } from "./when-fields.tsx";
import { WhyFields } from "./why-fields.tsx";

const empty: WindowFields = {
  id: "",
  kind: "allowed",
  time_zone: localZone(),
  days: [],
  from: "",
  to: "",
  starts: "",
  ends: "",
  reason: "",
};

const noFaults: Faults = { fields: {}, rest: "" };

export function WindowForm({ reload }: { reload: () => void }) {
  const [fields, setFields] = useState(empty);
  const [faults, setFaults] = useState(noFaults);
  const [added, setAdded] = useState<ListedWindow>();
  const form = useRef<HTMLFormElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each refusal
  useLayoutEffect(
    () => form.current?.querySelector<HTMLElement>("[aria-invalid]")?.focus(),
    [faults],
  );
  const add = async () => {
    setAdded(undefined);
    try {
      setAdded(await change<ListedWindow>("window/add", toWindow(fields)));
      setFields(empty);
      setFaults(noFaults);
      reload();
    } catch (problem) {
      setFaults(faultsOf((problem as Error).message));
    }
  };
  const shared = {
    fields,
    faults: faults.fields,
    change: (part: Partial<WindowFields>) => setFields({ ...fields, ...part }),
  };
  return (
    <section class="panel" aria-labelledby="add-title">
      <header class="panel-head">
        <h2 id="add-title">Add a window</h2>
        <span class="quiet">It holds for the next wave, also of a rollout in progress.</span>
      </header>
      <form
        ref={form}
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <div class="halves">
          <div class="form">
            <WhyFields {...shared} />
            <BoundFields {...shared} />
          </div>
          <div class="form">
            <DailyFields {...shared} />
          </div>
        </div>
        {faults.rest !== "" && (
          <p role="alert" class="refused">
            {faults.rest}
          </p>
        )}
        <div class="row">
          <button type="submit" class="main">
            Add the window
          </button>
        </div>
      </form>
      <div role="status" class="added">
        {added !== undefined && (
          <Notice tone="good">
            The window {added.id} is added: {whenOf(added)}.
          </Notice>
        )}
      </div>
    </section>
  );
}
