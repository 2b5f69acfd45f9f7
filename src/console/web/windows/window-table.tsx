/** The windows, each with a button that removes it. */
import { change } from "#console/web/api.ts";
import { date } from "#console/web/format.ts";
import { localZone } from "#console/web/local-time.ts";
import { ask, type Given } from "#console/web/parts/confirm.tsx";
import type { ListedWindow } from "#rollout/windows/contract.ts";
import { whenOf } from "./when.ts";

type Props = { windows: readonly ListedWindow[]; reload: () => void };

export function WindowTable({ windows, reload }: Props) {
  return (
    <section class="panel" aria-labelledby="windows-title">
      <header class="panel-head">
        <h2 id="windows-title">Allowed windows and freezes</h2>
        {windows.length > 0 && <span class="quiet">dates are in {localZone()}</span>}
      </header>
      {windows.length === 0 ? (
        <p class="quiet">There are no windows: waves start at any time.</p>
      ) : (
        <div class="scroll">
          <table class="cards">
            <Head />
            <tbody>
              {windows.map((window) => (
                <Row
                  key={window.id}
                  window={window}
                  remove={() => ask(removeQuestion(window, { windows, reload }))}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Head() {
  return (
    <thead>
      <tr>
        <th>Window</th>
        <th>Kind</th>
        <th>When</th>
        <th>Reason</th>
        <th>Added</th>
        <th>
          <span class="visually-hidden">Remove</span>
        </th>
      </tr>
    </thead>
  );
}

function Row({ window, remove }: { window: ListedWindow; remove: () => void }) {
  const { id, kind, reason, ends, added_by: by, added_at: at } = window;
  const isOver = ends !== undefined && Date.parse(ends) <= Date.now();
  return (
    <tr>
      <td data-name="Window" class="window-name">
        <b>{id}</b>
      </td>
      <td data-name="Kind">
        <span>
          <span class={`tag t-${kind === "freeze" ? "warn" : "good"}`}>{kind}</span>{" "}
          {isOver && <span class="tag">over</span>}
        </span>
      </td>
      <td data-name="When">{whenOf(window)}</td>
      <td data-name="Reason" class="window-reason">
        {reason}
      </td>
      <td data-name="Added">
        {date(at)} by {by}
      </td>
      <td class="number">
        <button type="button" class="small" aria-label={`Remove ${id}…`} onClick={remove}>
          Remove…
        </button>
      </td>
    </tr>
  );
}

function removeQuestion({ id, kind, ...times }: ListedWindow, { windows, reload }: Props) {
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
    verb: "Remove it",
    isGrave: false,
    field: { label: "Reason", kind: "text" } as const,
    run: async ({ text: reason }: Given) => {
      await change("window/remove", { id, reason });
      reload();
    },
  };
}
