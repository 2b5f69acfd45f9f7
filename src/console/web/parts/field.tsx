/** A labelled control of a form, with a hint below it. */
import type { ComponentChildren } from "preact";

type Props = {
  name: string;
  hint?: string;
  /** What is wrong with the value; the control names `id` in its `aria-describedby`. */
  fault?: { id: string; words: string } | undefined;
  children: ComponentChildren;
};

export function Field({ name, hint, fault, children }: Props) {
  return (
    <div>
      {/* biome-ignore lint/a11y/noLabelWithoutControl: the control is the child */}
      <label>
        <span class="label">{name}</span>
        {children}
      </label>
      <Fault fault={fault} />
      {hint !== undefined && <p class="hint">{hint}</p>}
    </div>
  );
}

export function Fault({ fault }: Pick<Props, "fault">) {
  if (fault === undefined) return null;
  return (
    <p class="fault" id={fault.id} role="alert">
      {fault.words}
    </p>
  );
}
