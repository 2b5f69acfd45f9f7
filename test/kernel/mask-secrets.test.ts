import { describe, expect, it } from "vitest";
import { maskSecrets } from "#kernel/mask-secrets.ts";

describe("maskSecrets", () => {
  it.each([
    ["DB_PASSWORD=hunter2 next", "DB_PASSWORD=*** next"],
    ["password: hunter2", "password: ***"],
    [`{"apiKey":"sk-123","n":1}`, `{"apiKey":***,"n":1}`],
    [`{"token": "a b c", "n": 1}`, `{"token": ***, "n": 1}`],
    [
      String.raw`{"m":"{\"password\":\"hunter2\",\"n\":1}"}`,
      String.raw`{"m":"{\"password\":***,\"n\":1}"}`,
    ],
    [String.raw`\\\"token\\\": \\\"abc\\\"}`, String.raw`\\\"token\\\": ***}`],
    [String.raw`{\"authorization\":\"Bearer abc\"}`, String.raw`{\"authorization\":\"***"}`],
    [String.raw`{\"cookie\":\"sid=1\"}`, String.raw`{\"cookie\":\"***"}`],
    [String.raw`{"password":"a\"b","n":1}`, `{"password":***,"n":1}`],
    ["gw --token abc123 --port 80", "gw --token *** --port 80"],
    ["?access_token=abc&n=1", "?access_token=***&n=1"],
    ["connecting to postgres://gw:s3cret@db:5432/gw", "connecting to postgres://***@db:5432/gw"],
    ["https://ghp-token@github.com/x", "https://***@github.com/x"],
    ["Authorization: Bearer abcdefgh123", "Authorization: ***"],
    [`"authorization":"Basic dXNlcjpwYXNz","n":1`, `"authorization":"***","n":1`],
    ["sent bearer abcdefgh123 twice", "sent bearer *** twice"],
    ["Set-Cookie: sid=1; path=/", "Set-Cookie: ***"],
    ["jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc ok", "jwt *** ok"],
    ["ghp_abcdefghijklmnop", "***"],
    ["AKIAIOSFODNN7EXAMPLE", "***"],
  ])("of %j leaves %j", (text, masked) => {
    expect(maskSecrets(text)).toBe(masked);
  });

  it.each([
    "listening on http://0.0.0.0:8080/health",
    "token expired 3 s ago",
    "basic authentication is off",
    "GET /users/ada@example.com 200",
  ])("leaves %j as it is", (text) => {
    expect(maskSecrets(text)).toBe(text);
  });

  it.each([
    ["password".repeat(8_000)],
    [`${"token-".repeat(10_000)}`],
    [`authorization:${"a ".repeat(30_000)}`],
    ["a://".repeat(16_000)],
    ["eyJaaaaaaaa.".repeat(5_000)],
    [`secret${" ".repeat(60_000)}`],
    ["-----BEGIN PRIVATE KEY-----".repeat(2_000)],
  ])("takes no long time for what is made to take one (%#)", (text) => {
    const beganMs = performance.now();

    maskSecrets(text);

    expect(performance.now() - beganMs).toBeLessThan(500);
  });
});
