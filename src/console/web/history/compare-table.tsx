/** What two rollouts have in common, once, and what differs. */
import type { ComponentChildren } from "preact";
import type { PastRollout } from "#console/contract.ts";
import { count, duration, shortImage } from "#console/web/format.ts";
import { Image } from "#console/web/parts/image.tsx";
import { approvalNames } from "#console/web/rollout/approval.ts";
import { choiceLine } from "#console/web/rollout/choice-words.ts";
import { evidenceLine } from "#console/web/rollout/evidence-words.ts";
import { countHeldBack } from "#console/web/rollout/left-out.ts";
import { when } from "#console/web/times.ts";
import { callerWords, capitalize, stateWords } from "#kernel/words.ts";

type Props = { earlier: PastRollout; later: PastRollout };

export function CompareTable({ earlier, later }: Props) {
  return (
    <section class="panel" aria-labelledby="compare-title">
      <header class="panel-head">
        <h2 id="compare-title">Side by side</h2>
        <span class="quiet">what is the same is there once</span>
      </header>
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
    </section>
  );
}

/** The image and the start: of two rollouts of one image the start differs. */
export function nameOf(rollout: PastRollout): string {
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

/** Which of the two a value is of; the chart has the same colours. */
function Letter({ of }: { of: "A" | "B" }) {
  return <b class={`letter l-${of.toLowerCase()}`}>{of}</b>;
}

/** What is compared of two rollouts, in words. Pure. */
type Property = { name: string; of: (rollout: PastRollout) => string };

const properties: readonly Property[] = [
  { name: "Outcome", of: ({ detail }) => capitalize(stateWords(detail.status)) },
  { name: "Started by", of: ({ detail }) => callerWords(detail.started_by ?? "not known") },
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
  return last === 0 ? "not known" : count(Number(((done.at(-1) ?? 0) / last).toPrecision(3)));
}
