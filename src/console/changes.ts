/** What has changed between two states of the page, as one event. Pure. */
import { isDeepStrictEqual } from "node:util";
import type { Changes, SentRollout, WholeState } from "./events.ts";
import { diffColumns } from "./fleet-changes.ts";

/** undefined: nothing has changed; null: only the whole state can say what. */
export function diffStates(before: WholeState, after: WholeState): Changes | null | undefined {
  if (isDeepStrictEqual(before, after)) return undefined;
  if (before.rollout === null || after.rollout === null) return null;
  if (before.fleet === null || after.fleet === null) return null;
  const fleet = diffColumns(before.fleet, after.fleet);
  if (fleet === null) return null;
  const changes: Changes = {
    ...diffRollout(before.rollout, after.rollout),
    ...(fleet !== undefined && { fleet }),
    ...(!isDeepStrictEqual(before.trouble, after.trouble) && { trouble: after.trouble }),
  };
  return Object.keys(changes).length === 0 ? undefined : changes;
}

function diffRollout(before: SentRollout, after: SentRollout): Omit<Changes, "fleet" | "trouble"> {
  const changed = changedParts(before, after);
  const isSame = before.status.rollout_id === after.status.rollout_id;
  const lists = isSame ? { ...changedWaves(before, after), ...changedMessages(before, after) } : {};
  const { waves, messages, ...others } = changed;
  const rollout = {
    ...others,
    ...(waves !== undefined && lists.waves === undefined && { waves }),
    ...(messages !== undefined && lists.messages === undefined && { messages }),
  };
  return { ...(Object.keys(rollout).length > 0 && { rollout }), ...lists };
}

/** Every part of a rollout is always present, so no part ever has to be removed. */
function changedParts(before: SentRollout, after: SentRollout): Partial<SentRollout> {
  const known = new Map(Object.entries(steady(before)));
  const changed = Object.entries(steady(after))
    .filter(([name, part]) => !isDeepStrictEqual(known.get(name), part))
    .map(([name]) => name);
  const names = new Set(changed);
  return Object.fromEntries(Object.entries(after).filter(([name]) => names.has(name)));
}

/** Without what changes with every result: the page counts it by the marks. */
function steady({ status, ...others }: SentRollout): SentRollout {
  return {
    ...others,
    status: { ...status, succeeded: 0, failed: 0, in_flight: 0, updated_at: null },
  };
}

/** Single waves, if there are as many as before. */
function changedWaves(before: SentRollout, after: SentRollout): Pick<Changes, "waves"> {
  if (before.waves.length !== after.waves.length) return {};
  const waves = after.waves.filter((wave, i) => !isDeepStrictEqual(wave, before.waves[i]));
  return waves.length === 0 ? {} : { waves };
}

/** Single messages, if none has gone. */
function changedMessages(before: SentRollout, after: SentRollout): Pick<Changes, "messages"> {
  const known = new Map(before.messages.map((message) => [message.sequence, message]));
  const messages = after.messages.filter(
    (message) => !isDeepStrictEqual(message, known.get(message.sequence)),
  );
  const fresh = messages.filter(({ sequence }) => !known.has(sequence)).length;
  const hasGone = before.messages.length + fresh !== after.messages.length;
  return messages.length === 0 || hasGone ? {} : { messages };
}
