/** The commands on pins, promotions and windows. Each returns its exit code. */
import type { z } from "zod";
import { connect } from "#cli/connection.ts";
import { type GlobalOptions, ofFleet } from "#cli/options.ts";
import { complain, printAnswer, usageError } from "#cli/print.ts";
import { selectorOf } from "#cli/selector.ts";
import { createTable, plain } from "#cli/table.ts";
import { defaultFleet, type Labels } from "#fleet/contract.ts";
import { formatUtc } from "#kernel/time.ts";
import { callerWords, whichOf } from "#kernel/words.ts";
import { type ListedPin, pinHandlers, pinsName } from "#rollout/choice/contract.ts";
import {
  type ListedPromotion,
  promotionHandlers,
  promotionsName,
} from "#rollout/promotions/contract.ts";
import {
  type ListedWindow,
  type Opening,
  RolloutWindow,
  windowHandlers,
  windowsName,
} from "#rollout/windows/contract.ts";

type PinOptions = GlobalOptions & {
  reason: string;
  ids?: string[];
  regions?: string[];
  labels?: Labels;
  ends?: string;
};

export async function listPins(options: GlobalOptions): Promise<number> {
  const { output } = pinHandlers.List;
  const list = await connect(options).call(`${pinsName}/List`, ofFleet(options), output);
  return printAnswer(list, options.json, () => pinsTable(list.pins));
}

export async function addPin(id: string, options: PinOptions): Promise<number> {
  const { reason, ends } = options;
  const selector = selectorOf(options);
  if (selector === undefined) throw usageError("a pin needs --ids, --regions or --labels");
  const pin = { id, ...ofFleet(options), ...selector, reason, ...(ends !== undefined && { ends }) };
  const added = await connect(options).call(`${pinsName}/Add`, pin, pinHandlers.Add.output);
  printAnswer(
    added,
    options.json,
    () => `The pin ${id} is added: ${plain(whichOf(added))}, ${untilOf(added)}.`,
  );
  for (const warning of added.warnings) complain(`warning: ${warning}`);
  return 0;
}

export function removePin(id: string, options: RemoveOptions): Promise<number> {
  return removeRow(
    { what: "pin", address: `${pinsName}/Remove`, id },
    options,
    pinHandlers.Remove.output,
  );
}

function pinsTable(pins: readonly ListedPin[]): string {
  if (pins.length === 0) return "There are no pins: rollouts leave no sentinel out.";
  const table = createTable(["pin", "fleet", "sentinels", "holds", "reason", "by"]);
  for (const pin of pins) {
    const { id, fleet = "all", reason, added_by: by } = pin;
    const whose = [plain(whichOf(pin)), untilOf(pin), plain(reason), plain(callerWords(by))];
    table.push([id, fleet, ...whose]);
  }
  return String(table);
}

function untilOf({ ends }: ListedPin): string {
  if (ends === undefined) return "until it is removed";
  return `until ${formatUtc(ends)}${Date.parse(ends) <= Date.now() ? ", over" : ""}`;
}

export async function listPromotions(options: GlobalOptions): Promise<number> {
  const { output } = promotionHandlers.List;
  const list = await connect(options).call(`${promotionsName}/List`, ofFleet(options), output);
  return printAnswer(list, options.json, () => promotionsTable(list.promotions));
}

type PromotionOptions = GlobalOptions & { after: string; reason: string };

export async function addPromotion(id: string, options: PromotionOptions): Promise<number> {
  const { fleet = defaultFleet, after, reason } = options;
  const { output } = promotionHandlers.Add;
  const promotion = { id, fleet, after, reason };
  const added = await connect(options).call(`${promotionsName}/Add`, promotion, output);
  return printAnswer(added, options.json, () => `The promotion ${id} is added: ${wordsOf(added)}.`);
}

export function removePromotion(id: string, options: RemoveOptions): Promise<number> {
  return removeRow(
    { what: "promotion", address: `${promotionsName}/Remove`, id },
    options,
    promotionHandlers.Remove.output,
  );
}

function promotionsTable(promotions: readonly ListedPromotion[]): string {
  if (promotions.length === 0) return "There are no promotions: each fleet takes any image.";
  const table = createTable(["promotion", "fleet", "after", "reason", "by"]);
  for (const { id, fleet, after, reason, added_by: by } of promotions)
    table.push([id, fleet, after, plain(reason), plain(callerWords(by))]);
  return String(table);
}

function wordsOf({ fleet, after }: ListedPromotion): string {
  return `${fleet} takes an image once ${after} has completed it`;
}

type WindowOptions = GlobalOptions & {
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
  return printAnswer(
    list,
    options.json,
    () => `${windowsTable(list.windows)}\n${openWords(list.now)}`,
  );
}

export async function addWindow(id: string, options: WindowOptions): Promise<number> {
  const { output } = windowHandlers.Add;
  const window = windowOf(id, options);
  const added = await connect(options).call(`${windowsName}/Add`, window, output);
  return printAnswer(added, options.json, () => `The window ${id} is added: ${whenOf(added)}.`);
}

export function removeWindow(id: string, options: RemoveOptions): Promise<number> {
  return removeRow(
    { what: "window", address: `${windowsName}/Remove`, id },
    options,
    windowHandlers.Remove.output,
  );
}

/** Refused here already, with the option's name. */
function windowOf(id: string, options: WindowOptions): RolloutWindow {
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

function windowsTable(windows: readonly ListedWindow[]): string {
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

type RemoveOptions = GlobalOptions & { reason: string };
type RemovedRow = { what: string; address: string; id: string };

/** The log keeps the reason. */
async function removeRow<Output extends z.ZodType>(
  { what, address, id }: RemovedRow,
  { reason, ...options }: RemoveOptions,
  output: Output,
): Promise<number> {
  const removed = await connect(options).call(address, { id, reason }, output);
  return printAnswer(removed, options.json, () => `The ${what} ${id} is removed.`);
}
