/** Failures grouped by reason: one bad image is one entry, however many sentinels failed. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { LogTail } from "#console/web/fleet/log-tail.tsx";
import { count } from "#console/web/format.ts";
import { may } from "#console/web/may.ts";
import { Link } from "#console/web/router.tsx";
import { pathOfSentinel } from "#console/web/sentinels/search.ts";
import { useRead } from "#console/web/use-read.ts";
import type { Failure, RolloutDetail } from "#rollout/history/contract.ts";

/** The number of ids that are written out; the others are counted. */
const namedIds = 8;

type Props = {
  failures: RolloutDetail["failures"];
  /** Logs are kept of the newest deploys only: of the current rollout, but maybe not of a past one. */
  hasLogs?: boolean;
};

export function Failures({ failures, hasLogs = false }: Props) {
  if (failures.length === 0) return null;
  return (
    <section class="panel failures" aria-labelledby="failures-title">
      <header class="panel-head">
        <h2 id="failures-title">Failures</h2>
      </header>
      {failures.map((failure, index) => (
        <Group key={failure.code} failure={failure}>
          {hasLogs && <GroupLog ids={failure.ids} isOpen={index === 0} />}
        </Group>
      ))}
    </section>
  );
}

function Group({ failure, children }: { failure: Failure; children: ComponentChildren }) {
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
          {reason === code ? "Nothing more is reported." : reason}
        </p>
      ))}
      {of > reasons.length && (
        <p class="quiet">and {count(of - reasons.length)} other texts of this kind</p>
      )}
      <p class="failed-ids">
        {named.map((id) => (
          <Link key={id} to={pathOfSentinel(id)}>
            {id}
          </Link>
        ))}
        {hit > named.length && <span class="quiet">and {count(hit - named.length)} more</span>}
      </p>
      {children}
    </article>
  );
}

/** One log stands for all of the group, and is read once somebody looks at it. */
function GroupLog({ ids: [first], isOpen }: { ids: readonly string[]; isOpen: boolean }) {
  const [isShown, setShown] = useState(isOpen);
  if (first === undefined) return null;
  return (
    <details open={isShown} onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>Log</summary>
      {isShown && (may("operate") ? <KeptLog id={first} /> : <LogOf id={first} />)}
    </details>
  );
}

/** Shows the sentinel's log; as only a few are stored of those that failed alike, it may be that of another one. */
function KeptLog({ id }: { id: string }) {
  const { data, error } = useRead("FleetService/Log", { sentinel: id, which: "failed" });
  if (data === undefined && error === undefined) return <p class="quiet">Reading the log…</p>;
  const [alike] = data?.lines.length === 0 ? (data.similar ?? []) : [];
  return <LogOf id={alike ?? id} />;
}

function LogOf({ id }: { id: string }) {
  return <LogTail sentinel={id} which="failed" pageOf={pathOfSentinel} />;
}

/** "image not found" for `image_not_found`. */
function codeWords(code: string): string {
  return code.replaceAll("_", " ");
}
