/** Polls the dependencies and records their state. No request waits for a poll: the liveness check stays quick. */
import { Gauge, type Registry } from "prom-client";
import { onceAtATime, unlessLate } from "#kernel/async.ts";
import type { Log } from "#kernel/log.ts";

/** `ask` resolves when the dependency answers, and rejects when it does not. */
export type Dependency = { name: string; ask: () => Promise<unknown> };

export type ProberSettings = {
  registry: Registry;
  log: Log;
  intervalMs?: number;
  timeoutMs?: number;
};

export type DependencyState = "up" | "down";

export type Prober = {
  /** Polls it from now on, until `stop`. */
  watch: (dependency: Dependency) => Watch;
  /** Returns the last state of each dependency that has been polled and is still watched. */
  states: () => Record<string, DependencyState>;
};

type Watch = {
  /** Polls once, as the timer does; resolves with the poll in progress if there is one. Never throws. */
  probe: () => Promise<void>;
  stop: () => void;
};

export function createProber(settings: ProberSettings): Prober {
  const { registry, log, intervalMs = 5_000, timeoutMs = 2_000 } = settings;
  const gauges = createGauges(registry);
  const states = new Map<string, DependencyState>();

  const record = (name: string, { failure, tookMs }: Poll) => {
    const state = failure === undefined ? "up" : "down";
    gauges.up.set({ dependency: name }, state === "up" ? 1 : 0);
    gauges.seconds.set({ dependency: name }, tookMs / 1_000);
    // A dependency that is up from the start is not logged.
    if (state !== (states.get(name) ?? "up")) {
      if (state === "up") log.info({ dependency: name }, "dependency is back");
      else log.warn({ dependency: name, detail: failure }, "dependency is down");
    }
    states.set(name, state);
  };

  return {
    states: () => Object.fromEntries(states),
    watch: ({ name, ask }) => {
      let isWatched = true;
      const probe = onceAtATime(async () => {
        const outcome = await pollOnce(ask, timeoutMs);
        // One that was stopped meanwhile is not down.
        if (isWatched) record(name, outcome);
      });
      void probe();
      const timer = setInterval(() => void probe(), intervalMs);
      timer.unref();
      const stop = () => {
        isWatched = false;
        clearInterval(timer);
        states.delete(name);
      };
      return { probe, stop };
    },
  };
}

function createGauges(registry: Registry) {
  return {
    up: new Gauge({
      name: "vedette_dependency_up",
      help: "1 when the dependency answered the last poll, else 0.",
      labelNames: ["dependency"],
      registers: [registry],
    }),
    seconds: new Gauge({
      name: "vedette_dependency_answer_seconds",
      help: "How long the dependency took to answer, or to fail, at the last poll.",
      labelNames: ["dependency"],
      registers: [registry],
    }),
  };
}

/** `failure`: undefined when it answered. */
type Poll = { failure: string | undefined; tookMs: number };

async function pollOnce(ask: () => Promise<unknown>, timeoutMs: number): Promise<Poll> {
  const startedAtMs = performance.now();
  const failure = await failureOf(ask, timeoutMs);
  return { failure, tookMs: performance.now() - startedAtMs };
}

/** The name or code of the error, not its message, which could quote an address with its password. */
async function failureOf(
  ask: () => Promise<unknown>,
  timeoutMs: number,
): Promise<string | undefined> {
  const late = Object.assign(new Error(), { code: `no answer in ${timeoutMs} ms` });
  return unlessLate(ask, { limitMs: timeoutMs, late }).then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error.code ?? error.name,
  );
}
