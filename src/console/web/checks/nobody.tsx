/** While no alert of any check leaves the program: says so, and why. */
import { Notice } from "#console/web/parts/notice.tsx";
import type { CheckList } from "#monitor/results/contract.ts";

export function Nobody({ checks }: { checks: CheckList | undefined }) {
  if (checks?.reaches_nobody === undefined) return null;
  return (
    <Notice tone="warn">
      <b>No alert leaves this program yet:</b> {checks.reaches_nobody}. What to set is said by{" "}
      <code class="mono">npx vedette doctor</code>.
    </Notice>
  );
}

/** Who is paged by the alerts of a check: nobody before its channel is set up. */
export function pagesWords(pages: readonly string[], why: string | undefined): string {
  const later = pages.join(", ");
  if (why === undefined) return later || "nobody";
  return `nobody (${why}${later === "" ? "" : `; later ${later}`})`;
}
