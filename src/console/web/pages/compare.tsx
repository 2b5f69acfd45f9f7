/** Two rollouts side by side; on a phone one below the other, property by property. */
import type { ComponentChildren } from "preact";
import type { PastRollout } from "#console/contract.ts";
import { counts } from "#console/web/charts/axis.ts";
import { LazyChart } from "#console/web/charts/lazy.tsx";
import { count, duration, sentinels, shortImage } from "#console/web/format.ts";
import { Missing, Panel, Waiting } from "#console/web/parts/blocks.tsx";
import { Image } from "#console/web/parts/image.tsx";
import { approvalNames } from "#console/web/rollout/approval.ts";
import { evidenceLine } from "#console/web/rollout/evidence.tsx";
import { choiceLine, countHeldBack } from "#console/web/rollout/words.ts";
import { Link, path, useTitle } from "#console/web/router.tsx";
import { when } from "#console/web/times.ts";
import { useRead } from "#console/web/use-read.ts";
import { capitalize, starterWords, stateWords } from "#kernel/words.ts";

export function ComparePage() {
  const [, , first = "", second = ""] = path.value.split("/");
  const one = useRead("past-rollout", { rollout_id: first });
  const two = useRead("past-rollout", { rollout_id: second });
  if (one.isMissing || two.isMissing) {
    return <NotBoth id={one.isMissing ? first : second} />;
  }
  if (one.data === undefined || two.data === undefined) {
    return <Waiting error={one.error ?? two.error} />;
  }
  return <Compared earlier={one.data} later={two.data} />;
}

function NotBoth({ id }: { id: string }) {
  return (
    <Missing title="Rollout not found" back={{ to: "/history", words: "All rollouts" }}>
      There is no rollout <span class="mono">{id}</span> to compare with.
    </Missing>
  );
}

type Both = { earlier: PastRollout; later: PastRollout };

function Compared({ earlier, later }: Both) {
  useTitle(`${versionOf(earlier)} and ${versionOf(later)} · History`);
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
      <div class="sides">
        <CompareTable earlier={earlier} later={later} />
        <Progress earlier={earlier} later={later} />
      </div>
    </>
  );
}

function Progress({ earlier, later }: Both) {
  return (
    <Panel title="Sentinels done, from the start of each">
      <ProgressChart
        runs={[
          { name: `A ${nameOf(earlier)}`, colour: "--calm-fill", progress: earlier.progress },
          { name: `B ${nameOf(later)}`, colour: "--info-fill", progress: later.progress },
        ]}
      />
    </Panel>
  );
}

function versionOf({ detail }: PastRollout): string {
  return shortImage(detail.status.image ?? "");
}

/** The results of rollouts over time, each from its own start. */
type ChartLine = { name: string; colour: string; progress: PastRollout["progress"] };

function ProgressChart({ runs }: { runs: readonly ChartLine[] }) {
  const times = [...new Set(runs.flatMap(({ progress }) => [0, ...progress.seconds]))].sort(
    (a, b) => a - b,
  );
  const last = times.at(-1) ?? 0;
  if (last === 0) return <p class="quiet">No sentinel has a result.</p>;
  return (
    <LazyChart
      description={`Sentinels done over time. ${runs.map(describe).join(" ")}`}
      times={times}
      span={{ from: 0, to: last }}
      lines={runs.map(({ name, colour, progress }) => ({
        label: name,
        colour,
        values: times.map((second) => doneBy(progress, second)),
      }))}
      unit={counts}
      isElapsed
    />
  );
}

/** null after the end of the rollout: its line ends there. */
function doneBy({ seconds, done }: ChartLine["progress"], second: number): number | null {
  if (second > (seconds.at(-1) ?? 0)) return null;
  const after = seconds.findIndex((at) => at > second);
  const known = after === -1 ? seconds.length - 1 : after - 1;
  return known < 0 ? 0 : (done[known] ?? 0);
}

function describe({ name, progress: { seconds, done } }: ChartLine): string {
  return `${name}: ${sentinels(done.at(-1) ?? 0)} within ${duration(seconds.at(-1) ?? 0)}.`;
}

type Props = { earlier: PastRollout; later: PastRollout };

function CompareTable({ earlier, later }: Props) {
  return (
    <Panel title="Side by side" note="what is the same is there once">
      <table class="compare">
        <thead>
          <tr>
            <th scope="col">
              <span class="visually-hidden">Property</span>
            </th>
            <th scope="col">
              <Letter of="A" /> {nameOf(earlier)}
            </th>
            <th scope="col">
              <Letter of="B" /> {nameOf(later)}
            </th>
          </tr>
        </thead>
        <tbody>
          <Row name="Image" values={[imageOf(earlier), imageOf(later)]} show={showImage} />
          {properties.map((property) => (
            <PropertyRow key={property.name} property={property} both={[earlier, later]} />
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

/** The image and the start: of two rollouts of one image the start differs. */
function nameOf(rollout: PastRollout): string {
  const { started_at: at } = rollout.detail.status;
  return `${shortImage(imageOf(rollout))}, ${at === null ? "never started" : when(at)}`;
}

function imageOf({ detail }: PastRollout): string {
  return detail.status.image ?? "";
}

const showImage = (image: string) => (image === "" ? "not known" : <Image image={image} />);

type Pair = readonly [PastRollout, PastRollout];

function PropertyRow({ property, both: [a, b] }: { property: Property; both: Pair }) {
  return <Row name={property.name} values={[property.of(a), property.of(b)]} show={showText} />;
}

const showText = (text: string): ComponentChildren => text;

type RowProps = {
  name: string;
  values: readonly [string, string];
  show: (value: string) => ComponentChildren;
};

function Row({ name, values: [a, b], show }: RowProps) {
  return (
    <tr>
      <th scope="row">{name}</th>
      {a === b ? (
        <td colSpan={2} class="quiet">
          {show(a)}
        </td>
      ) : (
        <>
          <td>
            <Letter of="A" /> <span>{show(a)}</span>
          </td>
          <td>
            <Letter of="B" /> <span>{show(b)}</span>
          </td>
        </>
      )}
    </tr>
  );
}

/** The letter of the rollout that a value is of; the chart has the same colours. */
function Letter({ of }: { of: "A" | "B" }) {
  return <b class={`letter l-${of.toLowerCase()}`}>{of}</b>;
}

/** A property that is compared of two rollouts, in words. Pure. */
type Property = { name: string; of: (rollout: PastRollout) => string };

const properties: readonly Property[] = [
  { name: "Outcome", of: ({ detail }) => capitalize(stateWords(detail.status)) },
  {
    name: "Started by",
    of: ({ detail }) => starterWords(detail.started_by ?? "not known", detail.ci_run),
  },
  { name: "Waves", of: ({ detail }) => `${detail.wave_percentages.map(count).join(", ")} %` },
  { name: "Reason", of: ({ detail }) => detail.status.policy?.reason ?? "none" },
  {
    name: "Choice and order",
    of: ({ detail }) => choiceLine(detail.status.policy ?? {}) || "none",
  },
  { name: "CI", of: ({ detail }) => evidenceLine(detail.status.ci ?? []) || "not asked" },
  { name: "Approvals", of: approvals },
  { name: "Sentinels", of: ({ detail }) => count(detail.status.total) },
  { name: "Succeeded", of: ({ detail }) => count(detail.status.succeeded) },
  { name: "Failed", of: ({ detail }) => count(detail.status.failed) },
  { name: "Left out", of: leftOut },
  { name: "Reverted", of: ({ detail }) => count(detail.reverted) },
  { name: "Took", of: took },
  { name: "Per second", of: perSecond },
];

function approvals({ detail }: PastRollout): string {
  const { approvals: needed } = detail.status.policy ?? {};
  return needed === undefined ? "none" : approvalNames[needed];
}

/** The number of sentinels left out; history only knows those that a pin has held back while the rollout ran. */
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
  return last === 0 ? "not known" : count(Number(((done.at(-1) ?? 0) / last).toPrecision(3)));
}
