import type { ComponentChildren } from "preact";
import { Sign, type Tone } from "./mark.tsx";

/** A highlighted line with a sign and a colour. */
export function Notice({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <div class={`notice n-${tone}`}>
      <Sign tone={tone} />
      <div>{children}</div>
    </div>
  );
}

/** Shown until the data has been read, or the error. */
export function Waiting({ error }: { error?: string | undefined }) {
  if (error === undefined) return <p class="waiting">Loading…</p>;
  return <Notice tone="bad">{error}</Notice>;
}
