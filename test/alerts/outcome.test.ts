import { describe, expect, it } from "vitest";
import { gradeAnswer, gradeNetworkError, retryWaitMs } from "#alerts/outcome.ts";
import { newYearMs } from "../support/alerts/alert-builders.ts";

const answer = (status: number, body: unknown = "", retryAfter: string | null = null) =>
  gradeAnswer(
    { status, retryAfter, body: typeof body === "string" ? body : JSON.stringify(body) },
    newYearMs,
  );

describe("gradeAnswer", () => {
  it.each([200, 202, 204])(
    "takes %d for accepted, also with a body that says nothing",
    (status) => {
      const nothing = { status: 200, error: null, errors: {}, success: true };
      for (const body of ["", "ok", "{", "[]", "1", { status: "success", errors: [] }, nothing]) {
        expect(answer(status, body)).toEqual({ kind: "accepted" });
      }
    },
  );

  it.each([
    ["a page for people, as of a proxy or a login", " <!DOCTYPE html><title>Sign in</title>"],
    ["a page that begins with a comment", "\ufeff<!-- proxy --><html><body>"],
    ["an error by its own words", { status: "error" }],
    ["an error by its own status", { type: "validation_error", status: 422 }],
    ["an error of something in between", { error: "no upstream" }],
    ["no success", { success: false }],
    ["an error whose field is nowhere", { errors: [{ code: "oops", source: null }] }],
    ["errors in another shape", { errors: { title: ["is required"] } }],
    ["the service's own error", { type: "internal_error", errors: [{ code: "oops" }] }],
  ])("tries again after a success whose body is %s", (_, body) => {
    expect(answer(200, body)).toMatchObject({
      kind: "retry",
      cause: expect.stringMatching(/^status 200 with an error/),
    });
  });

  it.each([400, 413, 422, 301, 302])("takes %d for refused", (status) => {
    expect(answer(status)).toEqual({ kind: "refused", cause: `status ${status}` });
  });

  it.each([404, 405])("takes %d for refused where the service says so", (status) => {
    expect(answer(status, { type: "not_found", status })).toEqual({
      kind: "refused",
      cause: `status ${status} not_found`,
    });
  });

  it.each([
    [404, "<html><head><title>404 Not Found</title></head></html>"],
    [404, "404 page not found\n"],
    [404, ""],
    [405, "<html><head><title>405 Not Allowed</title></head></html>"],
  ])("tries again after a %d of somebody else who stands in between: %s", (status, body) => {
    expect(answer(status, body)).toEqual({
      kind: "retry",
      cause: `status ${status}, not the service's own`,
    });
  });

  it.each([401, 403])("takes %d for a refused token, and tries again", (status) => {
    expect(answer(status)).toEqual({
      kind: "retry",
      cause: `the source's token is refused: status ${status}`,
      isTokenRefused: true,
    });
  });

  it.each([408, 425, 429, 500, 502, 503, 504])("tries again after %d", (status) => {
    expect(answer(status)).toEqual({ kind: "retry", cause: `status ${status}` });
  });

  it("reads the wait from the header before the body", () => {
    const body = { rate_limit: { retry_after: "2026-01-01T00:01:00Z" } };

    expect(answer(429, body, "7")).toMatchObject({ afterMs: 7_000 });
    expect(answer(429, body)).toMatchObject({ afterMs: 60_000 });
  });

  it("names the service's codes, the field and the request", () => {
    const body = {
      type: "validation_error",
      request_id: "req-7",
      errors: [{ code: "is_required", source: { field: "title" }, message: "title: is required" }],
    };

    expect(answer(422, body)).toEqual({
      kind: "refused",
      cause: "status 422 validation_error is_required title (request req-7)",
    });
  });

  it("repeats no free text, which may quote what was sent", () => {
    const body = { type: "Bearer secret token", errors: [{ code: "a\nb" }] };

    expect(answer(422, body)).toMatchObject({ cause: "status 422" });
  });

  it.each(["", "null", "[]", '{"errors":[null]}', '{"errors":"x"}', "{"])(
    "tolerates the body %s",
    (body) => {
      expect(answer(500, body)).toEqual({ kind: "retry", cause: "status 500" });
    },
  );
});

describe("gradeNetworkError", () => {
  it("names the code of the cause, and nothing of the message", () => {
    const cause = Object.assign(new Error("connect to secret.example.com"), {
      code: "ECONNREFUSED",
    });

    expect(gradeNetworkError(new Error("fetch failed", { cause }))).toEqual({
      kind: "retry",
      cause: "not reached: ECONNREFUSED",
    });
  });
});

describe("retryWaitMs", () => {
  it("doubles from a second to five minutes", () => {
    const waits = [0, 1, 2, 8, 9, 1_000].map((attempt) => retryWaitMs(attempt, { random: 0 }));

    expect(waits).toEqual([1_000, 2_000, 4_000, 256_000, 300_000, 300_000]);
  });

  it("retries within a minute when the receiver refuses the token", () => {
    const waits = [0, 5, 6, 1_000].map((n) => retryWaitMs(n, { random: 0, isFault: true }));

    expect(waits).toEqual([1_000, 32_000, 60_000, 60_000]);
  });

  it("adds up to a tenth", () => {
    expect(retryWaitMs(0, { random: 1 })).toBe(1_100);
  });

  it("waits longer each time for a service that always asks for next to nothing", () => {
    const waits = [4, 5, 6, 7, 100].map((n) => retryWaitMs(n, { random: 0, afterMs: 100 }));

    expect(waits).toEqual([100, 1_000, 2_000, 4_000, 300_000]);
  });

  it("waits as long as Retry-After says, five minutes at most", () => {
    const waits = [0, 7_000, 86_400_000].map((afterMs) => retryWaitMs(3, { random: 0, afterMs }));

    expect(waits).toEqual([100, 7_000, 300_000]);
  });
});
