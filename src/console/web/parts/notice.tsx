import type { ComponentChildren } from "preact";
import { Link, useTitle } from "#console/web/router.tsx";
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

type Props = {
  title: string;
  /** What is missing, and why that may be. */
  children: ComponentChildren;
  back: { to: string; words: string };
};

export function Missing({ title, children, back }: Props) {
  useTitle(title);
  return (
    <section class="missing">
      <h1>{title}</h1>
      <p>{children}</p>
      <Link to={back.to} class="button">
        {back.words}
      </Link>
    </section>
  );
}
