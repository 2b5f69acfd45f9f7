import type { ComponentChildren } from "preact";
import { Sign, type Tone } from "./mark.tsx";

/** A line that stands out, with a sign beside its colour. */
export function Notice({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <div class={`notice n-${tone}`}>
      <Sign tone={tone} />
      <div>{children}</div>
    </div>
  );
}

/** What stands where nothing is yet. */
export function Waiting({ error }: { error?: string | undefined }) {
  if (error === undefined) return <p class="waiting">Reading…</p>;
  return <Notice tone="bad">{error}</Notice>;
}
