/** A page for what is not there, or not any more, with a way back. */
import type { ComponentChildren } from "preact";
import { Link } from "#console/web/router.tsx";
import { useTitle } from "#console/web/use-title.ts";

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
