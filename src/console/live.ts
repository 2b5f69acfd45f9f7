/** Polls the rollout while a client is connected, and sends all clients the same events. */
import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Log } from "#kernel/log.ts";
import type { Changes, LiveEvent, SentRollout, WholeState } from "./events.ts";
import { diffColumns } from "./fleet-changes.ts";
import { createObserve, type ObserveParts } from "./observe.ts";

type Send = (event: LiveEvent) => void;

export type Live = ReturnType<typeof createLive>;

/** Polling interval in ms: while a rollout or rollback runs, and otherwise. */
const everyMs = { active: 700, idle: 2_500 };
/** A poll that takes long, of a large fleet or on a busy machine, is followed by a pause this many times as long. */
const restShare = 2;
const longestRestMs = 3_000;
const beatEveryMs = 5_000;
/** While somebody looks, the next poll begins sooner than this after the one before. */
const oldAfterMs = 5_000;

/** `build`: of the page, which finds out by it that it is an older one. */
export function createLive(parts: ObserveParts & { log: Log; build: string }) {
  const listeners = new Set<Send>();
  /** Those who are sent nothing before a poll has ended, because what is known is old; with their last event. */
  const newcomers = new Map<Send, string | undefined>();
  const replay = createReplay(randomBytes(6).toString("hex"));
  const observe = createObserve(parts);
  let known: WholeState = { rollout: null, fleet: null, trouble: [] };
  let timer: NodeJS.Timeout | undefined;
  let isPolling = false;
  /** Whether something was changed since the poll that is under way has begun. */
  let isDue = false;
  let beats: NodeJS.Timeout | undefined;
  let polledAtMs = Number.NEGATIVE_INFINITY;

  const beat = (): LiveEvent => {
    return { name: "beat", data: { now: new Date().toISOString(), build: parts.build } };
  };

  const broadcast = (event: LiveEvent) => {
    for (const send of listeners) send(event);
  };

  const sendState = (state: WholeState) => {
    const before = replay.state();
    const changes = before === undefined ? null : diffStates(before, state);
    if (changes === null) broadcast(replay.replace(state));
    else if (changes !== undefined) broadcast(replay.change(state, changes));
  };

  const welcome = (send: Send, lastId: string | undefined) => {
    send(beat());
    for (const event of replay.since(lastId)) send(event);
    listeners.add(send);
  };

  const pollOnce = async () => {
    known = await observe(known);
    sendState(known);
    polledAtMs = performance.now();
    for (const [send, lastId] of newcomers) welcome(send, lastId);
    newcomers.clear();
  };

  const isWatched = () => listeners.size + newcomers.size > 0;

  const poll = () => {
    clearTimeout(timer);
    isDue = isPolling;
    if (isPolling) return;
    isPolling = true;
    const startedMs = performance.now();
    void pollOnce()
      .catch((err) => parts.log.error({ err }, "console could not read the rollout"))
      .finally(() => {
        isPolling = false;
        if (isDue) return poll();
        const tookMs = performance.now() - startedMs;
        const restMs = Math.min(tookMs * restShare, longestRestMs);
        const waitMs = Math.max(everyMs[paceOf(known)], restMs);
        if (isWatched()) timer = setTimeout(poll, waitMs);
      });
  };

  return {
    /**
     * Sends what has changed since the event `lastId` if it is known, else the whole state, and then every new event.
     * What nobody looked at for a while is read anew before. Returns a function that ends this.
     */
    listen(send: Send, lastId: string | undefined): () => void {
      const isOld = listeners.size === 0 && performance.now() - polledAtMs > oldAfterMs;
      if (isOld) newcomers.set(send, lastId);
      else welcome(send, lastId);
      // By a timer of their own: a poll may take as long as a page waits for a sign of life.
      beats ??= setInterval(() => broadcast(beat()), beatEveryMs);
      if (!isPolling) poll();
      return () => {
        listeners.delete(send);
        newcomers.delete(send);
        if (isWatched()) return;
        clearTimeout(timer);
        clearInterval(beats);
        beats = undefined;
      };
    },
    /** Polls at once, after an operator has changed something. */
    poll,
  };
}

function paceOf({ rollout }: WholeState): keyof typeof everyMs {
  const state = rollout?.status.state;
  return state === "in_progress" || state === "rolling_back" ? "active" : "idle";
}

/** Of JSON. With more than this the whole state is sent: it is not much longer, even for a large fleet. */
const keptLength = 512 * 1024;

type Entry = { number: number; event: LiveEvent; length: number };

/** `epoch` distinguishes the event ids of this process from those of an earlier one. */
export function createReplay(epoch: string) {
  let current: WholeState | undefined;
  let number = 0;
  let kept: Entry[] = [];
  /** `kept` has every change after this number. */
  let since = 0;

  const idOf = (n: number) => `${epoch}.${n}`;

  const forgetOldest = () => {
    let length = kept.reduce((sum, entry) => sum + entry.length, 0);
    while (length > keptLength && kept.length > 0) {
      const oldest = kept.shift();
      length -= oldest?.length ?? 0;
      since = oldest?.number ?? since;
    }
  };

  const missedAfter = (lastId: string): Entry[] | undefined => {
    const [givenEpoch, text] = lastId.split(".");
    const last = Number(text);
    const isKnown = givenEpoch === epoch && last >= since && last <= number;
    return isKnown ? kept.filter((entry) => entry.number > last) : undefined;
  };

  return {
    state: () => current,
    /** Sets a state that no changes lead to from the previous one. Returns its event. */
    replace(state: WholeState): LiveEvent {
      current = state;
      number += 1;
      since = number;
      kept = [];
      return { name: "state", id: idOf(number), data: state };
    },
    /** Returns the event of the changes that lead to this state. */
    change(state: WholeState, changes: Changes): LiveEvent {
      current = state;
      number += 1;
      const event: LiveEvent = { name: "changes", id: idOf(number), data: changes };
      kept.push({ number, event, length: JSON.stringify(changes).length });
      forgetOldest();
      return event;
    },
    /** The events after `lastId`; for undefined or an unknown id, the whole state. */
    since(lastId: string | undefined): LiveEvent[] {
      const missed = lastId === undefined ? undefined : missedAfter(lastId);
      if (missed !== undefined) return missed.map(({ event }) => event);
      return current === undefined ? [] : [{ name: "state", id: idOf(number), data: current }];
    },
  };
}

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
