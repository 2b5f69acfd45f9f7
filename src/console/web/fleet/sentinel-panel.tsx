import type { ComponentChildren } from "preact";
import type { SentinelDetail, SentinelMark } from "#console/contract.ts";
import { count } from "#console/web/format.ts";
import { type Fleet, nowMs } from "#console/web/live.ts";
import { ShortImage } from "#console/web/parts/image.tsx";
import { Mark } from "#console/web/parts/mark.tsx";
import { markNames } from "#console/web/parts/marks.ts";
import { Time } from "#console/web/parts/time.tsx";
import { Link } from "#console/web/router.tsx";
import { type Member, pinsOn, untilOf } from "#console/web/rows/pins.ts";
import { pathOfSentinel } from "#console/web/sentinels/search.ts";
import { useRead } from "#console/web/use-read.ts";
import { labelWords } from "#kernel/words.ts";
import { LogTail } from "./log-tail.tsx";
import { picked } from "./region.tsx";

type Props = { fleet: Fleet; index: number; rolloutId: string | null; isPast: boolean };

export function SentinelPanel({ fleet, index, rolloutId, isPast }: Props) {
  const id = fleet.ids[index] ?? "";
  const { data, error } = useRead("sentinel", { id, rollout_id: rolloutId }, 3_000);
  const mark = fleet.marks[index] ?? "o";
  return (
    <section class="sentinel" aria-label={`Sentinel ${id}`}>
      <header>
        <h3>
          <Mark mark={mark} /> <Link to={pathOfSentinel(id)}>{id}</Link>
        </h3>
        <button
          type="button"
          class="plain"
          onClick={() => {
            picked.value = undefined;
          }}
        >
          Close
        </button>
      </header>
      {mark === "l" ? (
        <p class="quiet">{data?.outcome_reason}</p>
      ) : (
        <Failure reason={reasonOf(fleet.reasons.get(index), { mark, data, isPast })} />
      )}
      {!isPast && <FailedLog mark={mark} id={id} />}
      {data !== undefined && <HeldBack sentinel={data} />}
      {error !== undefined && <p class="quiet">{error}</p>}
      {data !== undefined && (
        <dl class="facts">
          <Fact name="In this rollout" value={markNames[mark]} />
          <Fact name="Wave" value={data.wave === null ? "none" : count(data.wave)} />
          <Fact name="Region" value={data.region} />
          <Fact name="Health" value={data.health} />
          <Fact name="Labels" value={labelWords(data.labels) || "none"} />
          <Fact name="Running image" value={<ShortImage image={data.running_image} />} />
          <Fact name="Ordered image" value={<ShortImage image={data.image} />} />
          <Fact
            name="Previous image"
            value={
              data.previous_image === null ? "none" : <ShortImage image={data.previous_image} />
            }
          />
          <Fact name="Last change" value={<Time iso={data.updated_at} />} />
        </dl>
      )}
    </section>
  );
}

/** The stream sends long reasons cut short, and only the code of very many. */
function reasonOf(
  sent: string | undefined,
  { mark, data, isPast }: { mark: SentinelMark; data: SentinelDetail | undefined; isPast: boolean },
): string | null | undefined {
  if (!"fnxr".includes(mark)) return undefined;
  if (mark === "r") return data?.failure ?? sent;
  const ofLast = isPast ? undefined : data?.deploy_reason;
  const whole = data?.outcome_reason ?? ofLast;
  if (sent === undefined) return whole;
  return whole?.startsWith(sent.replace(/…$/, "")) ? whole : sent;
}

function Failure({ reason }: { reason: string | null | undefined }) {
  return reason ? <p class="reason">{reason}</p> : null;
}

function FailedLog({ mark, id }: { mark: SentinelMark; id: string }) {
  return mark === "f" || mark === "x" ? (
    <LogTail sentinel={id} which="failed" pageOf={pathOfSentinel} />
  ) : null;
}

function Fact({ name, value }: { name: string; value: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

export function HeldBack({ sentinel }: { sentinel: Member }) {
  const { data } = useRead("RolloutPins/List", {}, 10_000);
  const pins = pinsOn(sentinel, data?.pins ?? [], nowMs.value);
  return (
    <>
      {pins.map((pin) => (
        <p key={pin.id}>
          Held back by the pin <Link to="/pins">{pin.id}</Link> {untilOf(pin)}: {pin.reason}
        </p>
      ))}
    </>
  );
}
