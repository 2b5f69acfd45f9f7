/** The sliding window of one process. */
import type { LimitAnswer, Limiter, LimitRequest } from "./limiter.ts";

type Window = { sequence: number; count: number; previous: number; endsMs: number };

export function createLocalLimiter(): Limiter {
  const windows = new Map<string, Window>();
  return {
    take: (requests, nowMs) => {
      const answers = requests.map((request) => check(windows, request, nowMs));
      const passed = answers.every((answer) => answer.passed);
      if (passed) for (const request of requests) count(windows, request);
      return { passed, answers };
    },
    close: async () => windows.clear(),
  };
}

function check(windows: Map<string, Window>, request: LimitRequest, nowMs: number): LimitAnswer {
  const { limit, durationMs, cost } = request;
  const window = current(windows, request, nowMs);
  const elapsed = (nowMs % durationMs) / durationMs;
  const used = window.count + Math.floor(window.previous * (1 - elapsed));
  const passed = limit > 0 && used + cost <= limit;
  const remaining = Math.max(0, limit - used - (passed ? cost : 0));
  return { passed, remaining, resetMs: window.endsMs };
}

function current(windows: Map<string, Window>, request: LimitRequest, nowMs: number): Window {
  const { key, durationMs } = request;
  const sequence = Math.floor(nowMs / durationMs);
  const name = `${key}:${durationMs}`;
  const known = windows.get(name);
  if (known?.sequence === sequence) return known;
  const previous = known?.sequence === sequence - 1 ? known.count : 0;
  const window = { sequence, count: 0, previous, endsMs: (sequence + 1) * durationMs };
  windows.set(name, window);
  return window;
}

function count(windows: Map<string, Window>, request: LimitRequest): void {
  const window = windows.get(`${request.key}:${request.durationMs}`);
  if (window !== undefined) window.count += request.cost;
}
