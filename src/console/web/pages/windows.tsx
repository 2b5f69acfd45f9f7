/** Shows when the waves of rollouts may start, and when they must not. */
import { ofChosenFleet } from "#console/web/chosen-fleet.ts";
import { inWords } from "#console/web/format.ts";
import { nowMs } from "#console/web/live.ts";
import { Notice, Waiting } from "#console/web/parts/blocks.tsx";
import {
  Entries,
  Fault,
  type FormPart,
  faultOf,
  markOf,
  moment,
  reason,
  required,
} from "#console/web/parts/form.tsx";
import { Time } from "#console/web/parts/time.tsx";
import { RowForm, type RowKind, RowPage, RowTable } from "#console/web/rows/rows.tsx";
import {
  dayNames,
  toWindow,
  type Weekday,
  type WindowFields,
  whenOf,
} from "#console/web/rows/windows.ts";
import { localZone } from "#console/web/times.ts";
import { useRead } from "#console/web/use-read.ts";
import type { ListedWindow, Opening } from "#rollout/windows/contract.ts";

export function WindowsPage() {
  const { data, error, reload } = useRead("RolloutWindows/List", ofChosenFleet(), 10_000);
  if (data === undefined) return <Waiting error={error} />;
  return (
    <RowPage
      title="Windows"
      about="When the waves of rollouts may start, and when they must not."
      error={error}
      now={<Now now={data.now} />}
    >
      <WindowTable windows={data.windows} reload={reload} />
      <RowForm kind={window} reload={reload} />
    </RowPage>
  );
}

function next(until: string) {
  return (
    <>
      The next one may start {inWords(until, nowMs.value)}, <Time iso={until} />.
    </>
  );
}

function Now({ now: { is_open: isOpen, reason, until } }: { now: Opening }) {
  if (isOpen) return <Notice tone="good">A wave may start now.</Notice>;
  return (
    <Notice tone="warn">
      <b>No wave may start now</b>: {reason}.{" "}
      {until === undefined ? "By these windows none may start within a year." : next(until)}
    </Notice>
  );
}

type Props = { windows: readonly ListedWindow[]; reload: () => void };

function WindowTable({ windows, reload }: Props) {
  return (
    <RowTable
      word="window"
      title="Allowed windows and freezes"
      none="There are no windows: waves start at any time."
      rows={windows}
      columns={[
        { name: "Kind", of: (window) => <Kind window={window} /> },
        { name: "When", of: whenOf },
      ]}
      removal={(window) => removalOf(window, windows)}
      reload={reload}
    />
  );
}

function Kind({ window: { kind, ends } }: { window: ListedWindow }) {
  const isOver = ends !== undefined && Date.parse(ends) <= Date.now();
  return (
    <span>
      <span class={`tag t-${kind === "freeze" ? "warn" : "good"}`}>{kind}</span>{" "}
      {isOver && <span class="tag">over</span>}
    </span>
  );
}

function removalOf({ id, kind, ...times }: ListedWindow, windows: readonly ListedWindow[]) {
  const isLast = windows.filter((one) => one.kind === kind).length === 1;
  const then = {
    freeze: "Waves may start in that time, unless another window keeps them from it.",
    allowed: isLast
      ? "It is the only allowed window: waves then start at any time, except in freezes."
      : "Waves then start only in the other allowed windows.",
  };
  return {
    title: `Remove the ${kind === "freeze" ? "freeze" : "allowed window"} ${id}?`,
    lines: [
      `It is: ${whenOf(times)}.`,
      then[kind],
      "A rollout that waits for a window looks again at once, and its history keeps the reason.",
    ],
  };
}

const window: RowKind<WindowFields, ListedWindow> = {
  word: "window",
  about: "It holds for the next wave, also of a rollout in progress.",
  empty: {
    id: "",
    kind: "allowed",
    time_zone: localZone(),
    days: [],
    from: "",
    to: "",
    starts: "",
    ends: "",
    reason: "",
  },
  inputs: WindowInputs,
  toRow: toWindow,
  describe: whenOf,
};

const kindHints = {
  allowed: "Waves start only in windows of this kind, as soon as there is one.",
  freeze: "No wave starts in it, also where a window allows it.",
} as const;

const kinds = [
  ["allowed", "Allowed window"],
  ["freeze", "Freeze"],
] as const;

const zones = [...new Set(["UTC", ...Intl.supportedValuesOf("timeZone")])];
const zone = { ...required, list: "time-zones" };
const time = { type: "time" } as const;
const boundHint = `In your time zone, ${localZone()}.`;

/** The fields of a new window: what it is called and why it is there, and when it is. */
function WindowInputs(part: FormPart<WindowFields>) {
  const kindHint = kindHints[part.fields.kind];
  return (
    <div class="halves">
      <div class="form">
        <Entries
          part={part}
          entries={[
            [
              { of: "id", name: "Name", hint: "Such as office-hours.", input: required },
              { of: "kind", name: "Kind", hint: kindHint, options: kinds },
            ],
            { of: "reason", name: "Reason", hint: "Who has to wait reads it.", input: reason },
            [
              { of: "starts", name: "Starts", hint: boundHint, input: moment },
              { of: "ends", name: "Ends", hint: boundHint, input: moment },
            ],
          ]}
        />
      </div>
      <div class="form">
        <Days {...part} />
        <Entries
          part={part}
          entries={[
            [
              { of: "from", name: "From", hint: "Without both, the whole day.", input: time },
              { of: "to", name: "To", hint: "At or before From: on the next day.", input: time },
            ],
            {
              of: "time_zone",
              name: "Time zone",
              hint: "Of the days and the times of day.",
              input: zone,
            },
          ]}
        />
        <datalist id="time-zones">
          {zones.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </div>
    </div>
  );
}

function Days({ fields, faults, change }: FormPart<WindowFields>) {
  const toggle = (day: Weekday, isOn: boolean) =>
    change({ days: isOn ? [...fields.days, day] : fields.days.filter((one) => one !== day) });
  return (
    <fieldset>
      <legend>Days</legend>
      <div class="days">
        {dayNames.map(([day, name]) => (
          <label class="tick" key={day}>
            <input
              {...markOf("days", faults)}
              type="checkbox"
              checked={fields.days.includes(day)}
              onChange={(event) => toggle(day, event.currentTarget.checked)}
            />
            {name}
          </label>
        ))}
      </div>
      <Fault fault={faultOf("days", faults)} />
      <p class="hint">Days on which it begins; without a tick every day.</p>
    </fieldset>
  );
}
