/** Failures grouped by reason: one bad image is one entry, however many sentinels failed. */
import { count } from "#console/web/format.ts";
import { Link } from "#console/web/router.tsx";
import type { Failure, RolloutDetail } from "#rollout/history/contract.ts";

/** How many ids are written out; the others are counted. */
const namedIds = 8;

export function Failures({ failures }: { failures: RolloutDetail["failures"] }) {
  if (failures.length === 0) return null;
  return (
    <section class="panel failures" aria-labelledby="failures-title">
      <header class="panel-head">
        <h2 id="failures-title">Failures</h2>
      </header>
      {failures.map((failure) => (
        <Group key={failure.code} failure={failure} />
      ))}
    </section>
  );
}

function Group({ failure }: { failure: Failure }) {
  const { code, count: hit, ids, reasons, of } = failure;
  const named = ids.slice(0, namedIds);
  return (
    <article class="failure">
      <h3>
        <span class="bad-text">{count(hit)} ×</span> {codeWords(code)}
      </h3>
      {reasons.map(({ reason, count: times }) => (
        <p key={reason} class="reason">
          {reasons.length > 1 && <span class="quiet">{count(times)} × </span>}
          {reason}
        </p>
      ))}
      {of > reasons.length && (
        <p class="quiet">and {count(of - reasons.length)} other texts of this kind</p>
      )}
      <p class="failed-ids">
        {named.map((id) => (
          <Link key={id} to={`/fleet/${encodeURIComponent(id)}`}>
            {id}
          </Link>
        ))}
        {hit > named.length && <span class="quiet">and {count(hit - named.length)} more</span>}
      </p>
    </article>
  );
}

/** "image not found" for `image_not_found`. */
function codeWords(code: string): string {
  return code.replaceAll("_", " ");
}
