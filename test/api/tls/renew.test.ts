import { describe, expect, it } from "vitest";
import { isDue } from "#api/tls/acme.ts";

const dayMs = 86_400_000;
const certificate = { chain: "", privateKey: "", issuedMs: 0, expiresMs: 90 * dayMs };

describe("a certificate of 90 days", () => {
  it("is not due while a third of its life is left", () => {
    expect(isDue(certificate, 60 * dayMs)).toBe(false);
  });

  it("is due when less is left", () => {
    expect(isDue(certificate, 60 * dayMs + 1)).toBe(true);
  });

  it("is due when it has run out", () => {
    expect(isDue(certificate, 400 * dayMs)).toBe(true);
  });
});
