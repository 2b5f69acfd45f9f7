/**
 * Polls the dependencies every few seconds and records their state as a metric. No request waits for a
 * poll: the liveness check answers quickly while a dependency is down.
 */
import { Gauge, type Registry } from "prom-client";
import type { Log } from "#kernel/log.ts";

/** `ask` resolves when the dependency answers, and rejects when it does not. */
export type Dependency = { name: string; ask: () => Promise<unknown> };

export type ProberSettings = {
  registry: Registry;
  dependencies: readonly Dependency[];
  log: Log;
  intervalMs?: number;
  timeoutMs?: number;
};

export type Prober = {
  /** Polls every dependency once, as the timer does. Never throws. */
  probe: () => Promise<void>;
  stop: () => void;
};

export function startProber(settings: ProberSettings): Prober {
  const { registry, dependencies, log, intervalMs = 5_000, timeoutMs = 2_000 } = settings;
  const gauges = createGauges(registry);
  const states = new Map<string, boolean>();

  const probeOne = async ({ name, ask }: Dependency) => {
    const startedAtMs = performance.now();
    const failure = await failureOf(ask, timeoutMs);
    const isUp = failure === undefined;
    gauges.up.set({ dependency: name }, isUp ? 1 : 0);
    gauges.seconds.set({ dependency: name }, (performance.now() - startedAtMs) / 1_000);
    // A dependency that is up from the start is not logged.
    if (isUp !== (states.get(name) ?? true)) {
      if (isUp) log.info({ dependency: name }, "dependency is back");
      else log.warn({ dependency: name, detail: failure }, "dependency is down");
    }
    states.set(name, isUp);
  };

  let running: Promise<void> | undefined;
  const probe = () => {
    running ??= Promise.all(dependencies.map(probeOne)).then(() => {
      running = undefined;
    });
    return running;
  };

  void probe();
  const timer = setInterval(() => void probe(), intervalMs);
  timer.unref();
  return { probe, stop: () => clearInterval(timer) };
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

/** The name or code of the error, not its message, which could quote an address with its password. */
async function failureOf(
  ask: () => Promise<unknown>,
  timeoutMs: number,
): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, `no answer in ${timeoutMs} ms`);
  });
  const answer = ask().then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error.code ?? error.name,
  );
  try {
    return await Promise.race([answer, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
