/** Two rollouts side by side. */

import type { PastRollout } from "#console/contract.ts";
import { count, duration, outcomeName, shortImage } from "#console/web/format.ts";
import { ProgressChart } from "#console/web/history/progress-chart.tsx";
import { Image } from "#console/web/parts/image.tsx";
import { Waiting } from "#console/web/parts/notice.tsx";
import { approvalNames } from "#console/web/rollout/approval.ts";
import { choiceLine } from "#console/web/rollout/choice-words.ts";
import { evidenceLine } from "#console/web/rollout/evidence-words.ts";
import { countHeldBack } from "#console/web/rollout/left-out.ts";
import { Link, path } from "#console/web/router.tsx";
import { when } from "#console/web/times.ts";
import { useRead } from "#console/web/use-read.ts";
import { useTitle } from "#console/web/use-title.ts";

export function ComparePage() {
  const [, , first = "", second = ""] = path.value.split("/");
  const one = useRead("past-rollout", { rollout_id: first });
  const two = useRead("past-rollout", { rollout_id: second });
  if (one.data === undefined || two.data === undefined) {
    return <Waiting error={one.error ?? two.error} />;
  }
  return <Compared earlier={one.data} later={two.data} />;
}

function Compared({ earlier, later }: { earlier: PastRollout; later: PastRollout }) {
  useTitle(`${versionsOf(earlier, later)} · History`);
  return (
    <>
      <div class="page-head">
        <div>
          <h1>Two rollouts</h1>
          <p>
            <Link to="/history">All rollouts</Link>
          </p>
        </div>
      </div>
      <section class="panel" aria-labelledby="compare-title">
        <header class="panel-head">
          <h2 id="compare-title">Side by side</h2>
        </header>
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th>
                  <span class="visually-hidden">Property</span>
                </th>
                <th>{nameOf(earlier)}</th>
                <th>{nameOf(later)}</th>
              </tr>
            </thead>
            <tbody>
              <tr>
                <th scope="row">Image</th>
                {[earlier, later].map(({ detail }) => (
                  <td key={detail.status.rollout_id}>
                    <Image image={detail.status.image ?? ""} />
                  </td>
                ))}
              </tr>
              {rows.map(([name, of]) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td class={of(earlier) === of(later) ? "quiet" : ""}>{of(earlier)}</td>
                  <td class={of(earlier) === of(later) ? "quiet" : ""}>{of(later)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </section>
      <section class="panel" aria-labelledby="compare-progress">
        <header class="panel-head">
          <h2 id="compare-progress">Sentinels done, from the start of each</h2>
        </header>
        <ProgressChart
          runs={[
            { name: nameOf(earlier), colour: "--calm-fill", progress: earlier.progress },
            { name: nameOf(later), colour: "--info-fill", progress: later.progress },
          ]}
        />
      </section>
    </>
  );
}

const rows: [string, (rollout: PastRollout) => string][] = [
  ["Outcome", ({ detail }) => outcomeName(detail.status)],
  ["Started by", ({ detail }) => detail.started_by ?? ""],
  ["Waves", ({ detail }) => `${detail.wave_percentages.join(", ")} %`],
  ["Reason", ({ detail }) => detail.status.policy?.reason ?? ""],
  ["Choice and order", ({ detail }) => choiceLine(detail.status.policy ?? {})],
  ["CI", ({ detail }) => evidenceLine(detail.status.ci ?? [])],
  ["Approvals", approvals],
  ["Sentinels", ({ detail }) => count(detail.status.total)],
  ["Succeeded", ({ detail }) => count(detail.status.succeeded)],
  ["Failed", ({ detail }) => count(detail.status.failed)],
  ["Left out", leftOut],
  ["Reverted", ({ detail }) => count(detail.reverted)],
  ["Took", took],
  ["Per second", perSecond],
];

function nameOf({ detail }: PastRollout): string {
  const { image, started_at: at } = detail.status;
  return `${shortImage(image ?? "")}, ${at === null ? "never started" : when(at)}`;
}

function versionsOf(...both: [PastRollout, PastRollout]): string {
  return both.map(({ detail }) => shortImage(detail.status.image ?? "")).join(" and ");
}

function approvals({ detail }: PastRollout): string {
  const { approvals: needed } = detail.status.policy ?? {};
  return needed === undefined ? "" : approvalNames[needed];
}

/** Of a rollout from history only those are known that a pin has held back while it ran. */
function leftOut({ detail, fleet }: PastRollout): string {
  const heldBack = countHeldBack(fleet)
    .values()
    .reduce((sum, size) => sum + size, 0);
  return count(detail.status.left_out ?? heldBack);
}

function took({ detail }: PastRollout): string {
  const { started_at: from } = detail.status;
  if (from === null || detail.ended_at === null) return "not ended";
  return duration((Date.parse(detail.ended_at) - Date.parse(from)) / 1_000);
}

function perSecond({ progress: { seconds, done } }: PastRollout): string {
  const last = seconds.at(-1) ?? 0;
  return last === 0 ? "–" : String(Number(((done.at(-1) ?? 0) / last).toPrecision(3)));
}
