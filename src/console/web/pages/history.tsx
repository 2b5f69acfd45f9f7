/** Past rollouts with their outcomes, and links that compare two of them. */
import { doneIn } from "#console/counts.ts";
import { query } from "#console/web/address.ts";
import { count, duration } from "#console/web/format.ts";
import { may } from "#console/web/may.ts";
import { Notice, Table, Waiting } from "#console/web/parts/blocks.tsx";
import { Image } from "#console/web/parts/image.tsx";
import { Sign, toneOfState } from "#console/web/parts/mark.tsx";
import { Time } from "#console/web/parts/time.tsx";
import { Link } from "#console/web/router.tsx";
import { useRead } from "#console/web/use-read.ts";
import { capitalize, starterWords, stateWords } from "#kernel/words.ts";
import type { RolloutHistory } from "#rollout/contract.ts";

type Past = RolloutHistory["rollouts"][number];

const pageSize = 50;

export function HistoryPage() {
  const before = query.value.get("before") ?? undefined;
  const question = { limit: pageSize, ...(before !== undefined && { before }) };
  const { data, error } = useRead(
    "SentinelRolloutService/History",
    question,
    before === undefined ? 10_000 : undefined,
  );
  const rollouts = data?.rollouts;
  const last = rollouts?.at(-1)?.rollout_id;
  return (
    <>
      <div class="page-head">
        <div>
          <h1>History</h1>
          <p>Every rollout, the newest first.</p>
        </div>
        <div class="row">
          {before !== undefined && (
            <Link to="/history" class="button">
              Newest
            </Link>
          )}
          {rollouts?.length === pageSize && (
            <Link to={`/history?before=${last}`} class="button">
              Older
            </Link>
          )}
        </div>
      </div>
      {rollouts === undefined ? (
        <Waiting error={error} />
      ) : (
        <Page rollouts={rollouts} isNewest={before === undefined} error={error} />
      )}
    </>
  );
}

type PageProps = { rollouts: readonly Past[]; isNewest: boolean; error: string | undefined };

function Page({ rollouts, isNewest, error }: PageProps) {
  return (
    <>
      {error !== undefined && <Notice tone="warn">{error}</Notice>}
      <section class="panel" aria-label="Rollouts">
        {rollouts.length === 0 ? (
          <None isNewest={isNewest} />
        ) : (
          <RolloutTable rollouts={rollouts} />
        )}
      </section>
    </>
  );
}

function None({ isNewest }: { isNewest: boolean }) {
  if (!isNewest) return <p class="quiet">No rollout is older.</p>;
  return (
    <p class="quiet">
      No rollouts yet. {may("operate") && <Link to="/start">Start the first one</Link>}
    </p>
  );
}

function RolloutTable({ rollouts }: { rollouts: readonly Past[] }) {
  return (
    <Table
      names={["Outcome", "Image", "Started", "Started by", "Took", "Done", "Failed"]}
      numbers={["Took", "Done", "Failed"]}
      action="Compare"
    >
      {rollouts.map((rollout, i) => (
        <Row key={rollout.rollout_id} rollout={rollout} earlier={rollouts[i + 1]} />
      ))}
    </Table>
  );
}

function Row({ rollout, earlier }: { rollout: Past; earlier: Past | undefined }) {
  const { rollout_id: id, started_by: by, ci_run: run } = rollout;
  const failed = rollout.failed + rollout.failed_before;
  return (
    <tr>
      <td data-name="Outcome">
        <span class="badge">
          <Sign tone={toneOfState(rollout)} />
          {capitalize(stateWords(rollout))}
        </span>
        {rollout.reason !== undefined && <p class="quiet">{rollout.reason}</p>}
      </td>
      <td data-name="Image">
        <Link to={`/history/${id}`}>
          <Image image={rollout.image} />
        </Link>
      </td>
      <td data-name="Started" class="nowrap">
        <Link to={`/history/${id}?at=${rollout.started_at}`}>
          <Time iso={rollout.started_at} />
        </Link>
      </td>
      <td data-name="Started by">
        {(run && by && starterWords(by, run)) ?? by ?? <span class="quiet">not known</span>}
      </td>
      <td data-name="Took" class="number">
        {took(rollout)}
      </td>
      <td data-name="Done" class="number">
        {done(rollout)}
      </td>
      <td data-name="Failed" class="number">
        {failed === 0 ? "0" : <b class="bad-text">{count(failed)}</b>}
      </td>
      <td>
        {earlier !== undefined && (
          <Link to={`/history/${earlier.rollout_id}/${id}`} class="nowrap">
            Compare with <Time iso={earlier.started_at} />
          </Link>
        )}
      </td>
    </tr>
  );
}

function done({ state, outcome, total, reverted, ...of }: Past): string {
  if (state === "completed" && total === 0) return "nothing to do";
  const back = outcome === "rolled_back" ? `, ${count(reverted)} put back` : "";
  return `${count(doneIn({ reverted, ...of }))} of ${count(total)}${back}`;
}

function took({ started_at: from, ended_at: to }: Past): string {
  return to === null ? "not ended" : duration((Date.parse(to) - Date.parse(from)) / 1_000);
}
