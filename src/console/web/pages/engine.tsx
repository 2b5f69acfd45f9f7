/** Versions of the program as Restate knows them, and calls that do not progress. */
import { send } from "#console/web/api.ts";
import { count } from "#console/web/format.ts";
import { may } from "#console/web/may.ts";
import { Notice, Panel, Table, Waiting } from "#console/web/parts/blocks.tsx";
import { ask } from "#console/web/parts/confirm.tsx";
import { Time } from "#console/web/parts/time.tsx";
import { useRead } from "#console/web/use-read.ts";
import { versionWords } from "#kernel/words.ts";
import type { Troubled, Version } from "#worker/contract.ts";

export function EnginePage() {
  return (
    <>
      <div class="page-head">
        <div>
          <h1>Engine</h1>
          <p>Calls that Restate retries or has paused, and the versions that serve.</p>
        </div>
      </div>
      {may("operate") ? (
        <Calls />
      ) : (
        <p class="quiet">
          Calls that do not progress are shown to operators: reasons quote other programs.
        </p>
      )}
      <Versions />
    </>
  );
}

function Calls() {
  const { data, error, reload } = useRead("Engine/Troubled", {}, 5_000);
  if (data === undefined) return <Waiting error={error} />;
  const { invocations, total } = data;
  const shown = invocations.length;
  return (
    <Panel
      title="Calls that do not progress"
      {...(total > shown && { note: `the first ${count(shown)} of ${count(total)}` })}
    >
      {error !== undefined && <Notice tone="warn">{error}</Notice>}
      {total === 0 ? (
        <p class="quiet">Restate retries nothing, and nothing is paused.</p>
      ) : (
        <Table names={["Call", "State", "Since", "Reason"]} action="Action">
          {invocations.map((one) => (
            <CallCells key={one.id} call={one} reload={reload} />
          ))}
        </Table>
      )}
    </Panel>
  );
}

function CallCells({ call, reload }: { call: Troubled; reload: () => void }) {
  const { id, target, status, since, attempts, next_attempt_at: next, reason, advice } = call;
  return (
    <tr>
      <td data-name="Call" class="row-reason">
        <b>{target}</b> <span class="mono small-text quiet">{id}</span>
      </td>
      <td data-name="State">
        <span>
          <span class={`tag ${status === "paused" ? "t-bad" : "t-warn"}`}>
            {status === "paused" ? "paused" : "retried"}
          </span>{" "}
          attempt {count(attempts)}
          {next !== null && (
            <>
              , next <Time iso={next} />
            </>
          )}
        </span>
      </td>
      <td data-name="Since" class="nowrap">
        <Time iso={since} />
      </td>
      <td data-name="Reason" class="row-reason">
        {reason} <span class="quiet">{advice}</span>
      </td>
      <td class="number">
        <button
          type="button"
          class="small"
          aria-label={`Try ${id} now…`}
          onClick={() => askRetry(call, reload)}
        >
          Try now…
        </button>
      </td>
    </tr>
  );
}

function askRetry({ id, target, advice }: Troubled, reload: () => void): void {
  ask({
    title: `Try ${target} now?`,
    lines: [
      "The next attempt is made at once. What it has done already is not done again.",
      advice,
    ],
    verb: "Try now",
    isGrave: false,
    run: async () => {
      await send("Engine/Retry", { id });
      reload();
    },
  });
}

function Versions() {
  const { data, error, reload } = useRead("Engine/Versions", {}, 15_000);
  if (data === undefined) return <Waiting error={error} />;
  return (
    <Panel title="Versions">
      {error !== undefined && <Notice tone="warn">{error}</Notice>}
      <Table
        names={["Revision", "Address", "Registered", "State", "Not ended"]}
        numbers={["Not ended"]}
        action={may("operate") ? "Action" : undefined}
      >
        {data.versions.map((one) => (
          <VersionCells key={one.revision} version={one} reload={reload} />
        ))}
      </Table>
    </Panel>
  );
}

function VersionCells({ version, reload }: { version: Version; reload: () => void }) {
  const { revision, address, registered_at: registered, serves } = version;
  const { state, left } = versionWords(version);
  return (
    <tr>
      <td data-name="Revision" class="mono">
        {revision}
      </td>
      <td data-name="Address" class="mono row-reason">
        {address}
      </td>
      <td data-name="Registered" class="nowrap">
        <Time iso={registered} />
      </td>
      <td data-name="State">
        {state}
        {version.unreachable > 0 && (
          <span class="tag t-bad">{count(version.unreachable)} unreachable</span>
        )}
      </td>
      <td data-name="Not ended" class="number">
        {count(left)}
      </td>
      {may("operate") && (
        <td class="number">
          {serves === 0 && left > 0 && (
            <button
              type="button"
              class="small"
              aria-label={`Continue calls of ${revision}…`}
              onClick={() => askAdopt(version, reload)}
            >
              Continue…
            </button>
          )}
        </td>
      )}
    </tr>
  );
}

function askAdopt({ revision }: Version, reload: () => void): void {
  ask({
    title: `Continue what ${revision} has left?`,
    lines: [
      "The version that serves takes its calls over.",
      "A rollout whose steps have changed in between pauses, and says so.",
    ],
    verb: "Continue them",
    isGrave: false,
    run: async () => {
      await send("Engine/Adopt", { revision });
      reload();
    },
  });
}
