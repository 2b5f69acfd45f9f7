/** Plays a past rollout against a policy that the operator pastes. */
import { useState } from "preact/hooks";
import { count, duration, sentinels } from "#console/web/format.ts";
import { Notice, Panel, Waiting } from "#console/web/parts/blocks.tsx";
import { useRead } from "#console/web/use-read.ts";
import type { ReplayResult } from "#rollout/replay/contract.ts";

const example = '{ "max_failed": { "in_all": 0 }, "soak_seconds": 600 }';

export function Replay({ id }: { id: string }) {
  const [text, setText] = useState(example);
  const [asked, setAsked] = useState<object | null>();
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    setAsked(parsePolicy(text));
  };
  return (
    <Panel title="Would this policy have stopped it?">
      <form class="form" onSubmit={submit}>
        <label>
          Policy, as JSON
          <textarea
            rows={4}
            maxLength={20_000}
            spellcheck={false}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <p class="quiet">
          The fields of a Rollout request but its image; others stay as this rollout had them.
        </p>
        <button type="submit">Try this policy</button>
      </form>
      {asked === null && <Notice tone="bad">This is no JSON object.</Notice>}
      {asked != null && <Answer id={id} policy={asked} />}
    </Panel>
  );
}

/** null: it is no object. */
function parsePolicy(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

function Answer({ id, policy }: { id: string; policy: object }) {
  const { data, error } = useRead("RolloutReplay/Replay", { rollout_id: id, policy });
  if (data === undefined) return <Waiting error={error} />;
  const { would, notes } = data;
  return (
    <>
      <p>
        <b>{endWords(would)}</b>
        {would.reason !== undefined && <>: {would.reason}</>}
      </p>
      <p>{countWords(data)}</p>
      {notes.map((note) => (
        <p key={note} class="quiet">
          {note}
        </p>
      ))}
    </>
  );
}

const ends: Record<ReplayResult["would"]["end"], string> = {
  paused: "It would have paused",
  rolled_back: "It would have been rolled back",
  completed: "It would have completed",
  unknown: "Nothing that is known would have stopped it",
};

function endWords({ end, wave, waves }: ReplayResult["would"]): string {
  return `${ends[end]} in wave ${wave} of ${waves}`;
}

function countWords({ would, fewer, longer_seconds: longer }: ReplayResult): string {
  const difference = `${count(Math.abs(fewer))} ${fewer < 0 ? "more" : "fewer"} than really`;
  const time = `${duration(Math.abs(longer))} ${longer < 0 ? "less" : "more"}`;
  return `${sentinels(would.ordered)} ordered to run the image, ${difference}; ${count(would.failed)} failed; ${time} time.`;
}
