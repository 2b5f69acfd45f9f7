/** The commands on windows. Each returns its exit code. */
import { connect } from "#cli/connection.ts";
import { type GlobalOptions, ofFleet } from "#cli/options.ts";
import { printAnswer, usageError } from "#cli/print.ts";
import { createTable, plain } from "#cli/table.ts";
import { formatUtc } from "#kernel/time.ts";
import { callerWords } from "#kernel/words.ts";
import {
  type ListedWindow,
  type Opening,
  RolloutWindow,
  windowHandlers,
  windowsName,
} from "#rollout/windows/contract.ts";

type AddOptions = GlobalOptions & {
  kind: string;
  reason: string;
  timeZone?: string;
  days?: string;
  from?: string;
  to?: string;
  starts?: string;
  ends?: string;
};

export async function listWindows(options: GlobalOptions): Promise<number> {
  const { output } = windowHandlers.List;
  const list = await connect(options).call(`${windowsName}/List`, ofFleet(options), output);
  return printAnswer(list, options.json, () => `${tableOf(list.windows)}\n${openWords(list.now)}`);
}

export async function addWindow(id: string, options: AddOptions): Promise<number> {
  const { output } = windowHandlers.Add;
  const window = windowOf(id, options);
  const added = await connect(options).call(`${windowsName}/Add`, window, output);
  return printAnswer(added, options.json, () => `The window ${id} is added: ${whenOf(added)}.`);
}

export async function removeWindow(
  id: string,
  options: GlobalOptions & { reason: string },
): Promise<number> {
  const { reason } = options;
  const { output } = windowHandlers.Remove;
  const removed = await connect(options).call(`${windowsName}/Remove`, { id, reason }, output);
  return printAnswer(removed, options.json, () => `The window ${id} is removed.`);
}

/** Refused here already, with the option's name. */
function windowOf(id: string, options: AddOptions): RolloutWindow {
  const { kind, reason, timeZone, days, from, to, starts, ends } = options;
  const window = RolloutWindow.safeParse({
    id,
    ...ofFleet(options),
    kind,
    reason,
    time_zone: timeZone,
    days: days?.split(",").map((day) => day.trim()),
    from,
    to,
    starts,
    ends,
  });
  if (window.success) return window.data;
  const [issue] = window.error.issues;
  const field = String(issue?.path[0] ?? "id").replace("_", "-");
  throw usageError(`${field === "id" ? "the id" : `--${field}`}: ${issue?.message}`);
}

function tableOf(windows: readonly ListedWindow[]): string {
  if (windows.length === 0) return "There are no windows: waves start at any time.";
  const table = createTable(["window", "kind", "fleet", "when", "reason", "by"]);
  for (const window of windows) {
    const { id, kind, fleet = "all", reason, added_by: by } = window;
    table.push([id, kind, fleet, whenOf(window), plain(reason), plain(callerWords(by))]);
  }
  return String(table);
}

function whenOf({ days, from, to, time_zone: zone, starts, ends }: ListedWindow): string {
  const isDaily = days !== undefined || from !== undefined;
  const daily = [days?.join(", ") ?? "daily", from === undefined ? "" : `${from} to ${to}`, zone];
  const words = [
    ...(isDaily ? [daily.filter((word) => word !== "").join(" ")] : []),
    ...(starts === undefined ? [] : [`from ${formatUtc(starts)}`]),
    ...(ends === undefined ? [] : [`until ${formatUtc(ends)}`]),
  ];
  return words.length === 0 ? "until it is removed" : words.join(", ");
}

function openWords({ is_open: isOpen, reason, until }: Opening): string {
  if (isOpen) return "A wave may start now.";
  const next = until ? `The next one: ${formatUtc(until)}.` : "None may start within a year.";
  return `No wave may start now, since ${plain(reason ?? "")}. ${next}`;
}
