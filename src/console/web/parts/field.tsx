/** A labelled control of a form, with a hint below it. */
import type { ComponentChildren } from "preact";

export function Field({
  name,
  hint,
  children,
}: {
  name: string;
  hint: string;
  children: ComponentChildren;
}) {
  return (
    <div>
      {/* biome-ignore lint/a11y/noLabelWithoutControl: the control is the child */}
      <label>
        <span class="label">{name}</span>
        {children}
      </label>
      <p class="hint">{hint}</p>
    </div>
  );
}
