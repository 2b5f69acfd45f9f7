/** What two rollouts have in common, once, and what differs. */
import type { ComponentChildren } from "preact";
import type { PastRollout } from "#console/contract.ts";
import { shortImage } from "#console/web/format.ts";
import { Image } from "#console/web/parts/image.tsx";
import { when } from "#console/web/times.ts";
import { type Property, properties } from "./properties.ts";

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
