import type { ComponentChildren } from "preact";
import { addressOf } from "#console/web/address.ts";
import { withFleet } from "#console/web/chosen-fleet.ts";
import { duration, ms } from "#console/web/format.ts";
import { Panel, Table, Waiting } from "#console/web/parts/blocks.tsx";
import { Time } from "#console/web/parts/time.tsx";
import { Link } from "#console/web/router.tsx";
import { useRead } from "#console/web/use-read.ts";
import { rolloutOfAlert } from "#kernel/words.ts";
import type {
  CheckEpisode,
  CheckEpisodes,
  CheckHistory,
  CheckSuppression,
  CheckView,
} from "#monitor/results/contract.ts";

const tags = { ok: "t-good", degraded: "t-warn", failed: "t-bad" } as const;

export function LastResults({ check }: { check: CheckView }) {
  const { data, error } = useRead("CheckReads/History", { check: check.id, limit: 25 }, 10_000);
  return (
    <Panel title={check.kind === "api" ? "Last runs" : "Last pings"}>
      {data === undefined ? (
        <Waiting error={error} />
      ) : data.results.length === 0 ? (
        <p class="quiet">
          No results yet. {check.kind === "api" ? "Each run" : "Each ping"} is listed here.
        </p>
      ) : (
        <Results results={data.results} />
      )}
    </Panel>
  );
}

function Results({ results }: Pick<CheckHistory, "results">) {
  return (
    <Table names={["When", "Location", "Grade", "Took", "Result"]} numbers={["Took"]}>
      {results.map((result) => (
        <tr key={`${result.scheduled_at} ${result.location}`}>
          <td data-name="When" class="nowrap">
            <Time iso={result.scheduled_at} />
          </td>
          <td data-name="Location">{result.location}</td>
          <td data-name="Grade">
            <span class={`tag ${tags[result.grade]}`}>{result.grade}</span>
          </td>
          <td data-name="Took" class="number">
            {ms(result.duration_ms)}
          </td>
          <td data-name="Result">{resultWords(result)}</td>
        </tr>
      ))}
    </Table>
  );
}

type Result = Pick<CheckHistory["results"][number], "status" | "reason" | "grade">;

function resultWords({ status, reason, grade }: Result): string {
  const words = [status === null ? "" : `status ${status}`, reason ?? ""];
  const said = words.filter((part) => part !== "").join(": ");
  return said || (grade === "ok" ? "as expected" : "no reason is known");
}

/** `goesOn`: what it is while `until` is null. */
type Line = {
  name: string;
  from: string;
  until: string | null;
  goesOn: string;
  reason: ComponentChildren;
};

type Props = { alerts: CheckEpisodes; limit: number };

/** The alerts of a check and the times in which one was suppressed, the newest first. */
export function Episodes({ alerts: { episodes, suppressions }, limit }: Props) {
  const lines = [...episodes.map(lineOfEpisode), ...suppressions.map(lineOfSuppression)];
  if (lines.length === 0) return <p class="quiet">No alerts yet.</p>;
  const newest = lines.toSorted((a, b) => Date.parse(b.from) - Date.parse(a.from)).slice(0, limit);
  return (
    <Table names={["Alert", "Opened", "Lasted", "Reason"]}>
      {newest.map((line) => (
        <tr key={`${line.from} ${line.name}`}>
          <td data-name="Alert">{line.name}</td>
          <td data-name="Opened" class="nowrap">
            <Time iso={line.from} />
          </td>
          <td data-name="Lasted" class="nowrap">
            {lasted(line)}
          </td>
          <td data-name="Reason">{line.reason}</td>
        </tr>
      ))}
    </Table>
  );
}

function lasted({ from, until, goesOn }: Line): string {
  if (until === null) return goesOn;
  return duration((Date.parse(until) - Date.parse(from)) / 1_000);
}

function lineOfEpisode(episode: CheckEpisode): Line {
  const { opened_at: from, resolved_at: until } = episode;
  const reason = reasonOf(episode);
  return { name: `#${episode.episode}`, from, until, goesOn: "still open", reason };
}

function lineOfSuppression(suppression: CheckSuppression): Line {
  const { began_at: from, ended_at: until, suppressed_by: by } = suppression;
  const reason = (
    <span>
      {`${suppression.reason} · alerted nobody, because `}
      <Link to={`/checks/${by}`}>{by}</Link> failed
    </span>
  );
  return { name: "Suppressed", from, until, goesOn: "still suppressed", reason };
}

function reasonOf({ reason, rollout, missed_pings: missed, opened_at: at }: CheckEpisode) {
  const pings = missed === null ? "" : ` · ${missed} ping${missed === 1 ? "" : "s"} missed`;
  return (
    <span>
      {`${reason}${pings}`}
      {rollout !== null && <OfRollout {...rollout} openedAt={at} />}
    </span>
  );
}

type OfRolloutProps = NonNullable<CheckEpisode["rollout"]> & { openedAt: string };

/** The rollout that may have caused an alert, with a link to its page. */
export function OfRollout({ openedAt, rollout_id: id, fleet, ...mark }: OfRolloutProps) {
  const to = addressOf(withFleet(`/history/${id}`, fleet));
  return [
    " · ",
    <a key={id} href={to}>
      {rolloutOfAlert(mark, openedAt)}
    </a>,
  ];
}
