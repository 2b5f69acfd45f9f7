import { describe, expect, it } from "vitest";
import { readRetryAfter } from "#kernel/time.ts";

describe("readRetryAfter", () => {
  const nowMs = Date.parse("2026-01-01T00:00:00Z");

  it.each([
    { header: "7", afterMs: 7_000 },
    { header: "Thu, 01 Jan 2026 00:00:30 GMT", afterMs: 30_000 },
    { header: "Wed, 31 Dec 2025 00:00:00 GMT", afterMs: 0 },
    { header: "soon", afterMs: undefined },
    { header: undefined, afterMs: undefined },
    { header: null, afterMs: undefined },
  ])("reads $header", ({ header, afterMs }) => {
    expect(readRetryAfter(header, nowMs)).toBe(afterMs);
  });
});
