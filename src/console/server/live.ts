/** Polls the rollout while a client is connected, and sends all clients one stream of events, resumable by id. */
import { randomBytes } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { livePath } from "#console/contract.ts";
import type { Changes, LiveEvent, WholeState } from "#console/events.ts";
import type { Log } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import { diffStates } from "./changes.ts";
import { chosenFleet, type Guard } from "./guard.ts";
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
  /** Clients that are sent nothing before a poll has ended, because what is known is old; with their last event. */
  const newcomers = new Map<Send, string | undefined>();
  const replay = createReplay(randomBytes(6).toString("hex"));
  const observe = createObserve(parts);
  let known: WholeState = { rollout: null, fleet: null, trouble: [] };
  let timer: NodeJS.Timeout | undefined;
  let isPolling = false;
  /** True if something was changed since the poll that is under way has begun. */
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
    /** Sends the changes since `lastId`, or all, then each new event; polls first after a pause. Returns its end. */
    listen(send: Send, lastId: string | undefined): () => void {
      const isOld = listeners.size === 0 && performance.now() - polledAtMs > oldAfterMs;
      if (isOld) newcomers.set(send, lastId);
      else welcome(send, lastId);
      // Beats have a timer of their own: a poll may take as long as a page waits for a sign of life.
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

/** The limit of stored JSON: a client that missed more gets the whole state, not much longer even for a large fleet. */
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

/** The time until a browser reconnects after a lost connection. */
const retryMs = 1_000;
/** A client with so much unread data is disconnected; it reconnects and gets the newest state. */
const behindLimitBytes = 8 * 1024 * 1024;
/** Limit of streams per session: far more than the tabs that a person uses. Each stream is sent all events. */
const mostStreams = 16;
/** The interval at which the session is checked again. */
const recheckEveryMs = 5_000;

type Parts = {
  guard: Guard;
  /** The live state of each fleet, by its name. */
  lives: ReadonlyMap<string, Live>;
  /** Absent: the default. */
  recheckMs?: number;
};

export function serveStream(app: FastifyInstance, parts: Parts): void {
  const openStreams = new Map<string, number>();
  app.get(livePath, async (request, reply) => {
    const { id } = await parts.guard.requireSession(request);
    const live = parts.lives.get(chosenFleet(request, [...parts.lives.keys()])) as Live;
    const before = openStreams.get(id) ?? 0;
    if (before >= mostStreams) throw tooMany();
    reply.hijack();
    // A client that disconnected during the await emits no more "close": its stream would never be removed.
    if (reply.raw.destroyed) return;
    openStreams.set(id, before + 1);
    reply.raw.once("close", () => {
      const left = (openStreams.get(id) ?? 1) - 1;
      if (left > 0) openStreams.set(id, left);
      else openStreams.delete(id);
    });
    open(request, reply, { ...parts, live });
  });
}

function tooMany(): ProblemError {
  const detail = `this session has ${mostStreams} streams of events open already; close other tabs of the console`;
  return new ProblemError({ status: 429, code: "too_many_streams", detail });
}

function open(
  request: FastifyRequest,
  reply: FastifyReply,
  { guard, live, recheckMs = recheckEveryMs }: Omit<Parts, "lives"> & { live: Live },
): void {
  const { raw } = reply;
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    "content-type": "text/event-stream",
    // Proxies that buffer responses would delay the events.
    "x-accel-buffering": "no",
  });
  raw.write(`retry: ${retryMs}\n\n`);
  const send = (event: LiveEvent) => {
    if (raw.writableLength > behindLimitBytes) raw.destroy();
    else raw.write(formatEvent(event));
  };
  const lastId = request.headers["last-event-id"];
  const stopListening = live.listen(send, typeof lastId === "string" ? lastId : undefined);
  // Destroyed, not ended: an end waits until the client has read everything, and events after it are an error.
  const recheck = setInterval(() => {
    guard.requireSession(request).catch(() => raw.destroy());
  }, recheckMs);
  raw.once("close", () => {
    clearInterval(recheck);
    stopListening();
  });
}

function formatEvent({ name, id, data }: LiveEvent): string {
  const head = id === undefined ? "" : `id: ${id}\n`;
  return `${head}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
