import { describe, expect, it } from "vitest";
import { maskSecrets } from "#kernel/log.ts";

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
    ["key vedette_root_abcdefghijk ok", "key *** ok"],
    ["vds_abcdefghijk", "***"],
    ["key acme_live_EBceScAxTPAyrTKBZTseJg", "key acme_live_***"],
    ["token aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgHiJkLmNoAB", "token ***"],
    ["[whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw]", "[***]"],
    ["VEDETTE_API__ENCRYPTION_KEYS=new:a,old:b", "VEDETTE_API__ENCRYPTION_KEYS=***"],
    ['encryption_keys = ["new:a", "old:b"] # two', "encryption_keys = *** # two"],
    ["VEDETTE_SECRET_PAGER=a,b;c&d next", "VEDETTE_SECRET_PAGER=*** next"],
    ["https://hooks.slack.com/services/T0/B0/xyz ok", "https://hooks.slack.com/*** ok"],
    ["to hooks.slack-gov.com%2Fservices%2FT0%2FB0", "to hooks.slack-gov.com%2F***"],
    [
      String.raw`"https:\/\/hooks.slack.com\/services\/T0"`,
      String.raw`"https:\/\/hooks.slack.com\/***"`,
    ],
    ["POST /services/T00000000/B00/xyz 404", "POST /services/T00000000/*** 404"],
    ["https://discord.com/api/webhooks/1/abc", "https://discord.com/api/webhooks/***"],
    [
      "https://acme.webhook.office.com/webhookb2/a@b/c",
      "https://acme.webhook.office.com/webhookb2/***",
    ],
    [
      "https://chat.googleapis.com/v1/spaces/A/messages?key=a&token=b",
      "https://chat.googleapis.com/v1/spaces/***",
    ],
    ["https://chat.example.com/hooks/xyz123 ok", "https://chat.example.com/hooks/*** ok"],
    [
      "https://chat.example.com:8065/sub/hooks/xyz123",
      "https://chat.example.com:8065/sub/hooks/***",
    ],
    ["https://api.telegram.org/bot1:AbC/send", "https://api.telegram.org/bot***/send"],
    ["https://logic.example.com/a?sv=1&sig=AbC", "https://logic.example.com/a?sv=1&sig=***"],
    ["redis://:p@ss@cache:6379", "redis://***@cache:6379"],
    ["amqp://gw:pa/ss@mq/vhost", "amqp://***@mq/vhost"],
    ["smtps://ada%40x:pw@mail:465", "smtps://***@mail:465"],
    [String.raw`{"u":"postgres:\/\/gw:pw@db"}`, String.raw`{"u":"postgres:\/\/***@db"}`],
    ["sent Basic dXNlcjpwYXNz twice", "sent Basic *** twice"],
    ['{"routing_key":"r1"}', '{"routing_key":***}'],
    ["'password' => 'hunter2', 'n' => 1", "'password' => ***, 'n' => 1"],
    ['Db { password: Some("hunter2"), n: 1 }', "Db { password: Some(***), n: 1 }"],
    ["{'password': b'hunter2', 'n': 1}", "{'password': b***, 'n': 1}"],
    ["<password>hunter2</password>", "<password>***</password>"],
    ['<property name="password" value="hunter2"/>', '<property name="password" value=***/>'],
    ['{"name":"DB_PASSWORD","value":"hunter2"}', '{"name":"DB_PASSWORD","value":***}'],
    ["- name: DB_PASSWORD\n  value: hunter2", "- name: DB_PASSWORD\n  value: ***"],
    ["password: |\n  hunter2\nn: 1", "password: ***\nn: 1"],
    ["GET /a?next=%2Fb%3Ftoken%3Dhunter2 404", "GET /a?next=%2Fb%3Ftoken%3D*** 404"],
    [String.raw`failed\nauthorization: Digest hunter2`, String.raw`failed\nauthorization: ***`],
    ['"cookie": ["sid=hunter2"]', '"cookie": ["***"]'],
    ["to postgres%3A%2F%2Fgw%3Ahunter2%40db", "to postgres%3A%2F%2F***%40db"],
  ])("of %j leaves %j", (text, masked) => {
    expect(maskSecrets(text)).toBe(masked);
  });

  it.each([
    "listening on http://0.0.0.0:8080/health",
    "token expired 3 s ago",
    "basic authentication is off",
    "GET /users/ada@example.com 200",
    "GET http://gw:8080/users?mail=ada@example.com 200",
    `registry.example.com:5000/gw@sha256:${"0a1b2c3d".repeat(8)}`,
    "JsonWebTokenError: invalid signature",
    "    at verify (/app/src/tokens.js:88:5)",
    `oci://registry.example.com:5000/gw@sha256:${"0a1b2c3d".repeat(8)}`,
    `built from ${"0a1b2c3d5e".repeat(4)}`,
    `"integrity":"sha256-${"aB3".repeat(14)}x="`,
    "request 3f2504e0-4f89-11d3-9a0c-0305e82c3301 took 5 ms",
    "sentinel gw-eu-1_b is ready: ws_9Zt3AbcDefGh1Jkm",
    "invocation inv_1gdJBtdVEcM942bjcDmb1c1khoaJe11Hbz ends",
    "vedette-gateway-production-eu-central-1-abc is up",
    "hooks.slack.com refuses connections",
    "reading /etc/vedette/webhooks.yaml",
    "at /app/src/hooks/useThing.js:12:3",
    "cannot open /srv/app/webhook/handler.ts",
    "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    "usage: gw <token> <image>",
    "using basic authentication, Basic Authentication",
    "key=value, url=http://gw:8080/a, monkey: 3",
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
    ["VEDETTE_".repeat(8_000)],
    ["VEDETTE_KEY_URL_SECRET_".repeat(3_000)],
    [`VEDETTE_${"KEY".repeat(20_000)}`],
    ["hooks.".repeat(10_000)],
    ["http://a/hooks".repeat(4_500)],
    ["/a".repeat(30_000)],
    [" /a/b/c/d".repeat(7_000)],
    [`https:${"\\".repeat(60_000)}`],
    ["%2F".repeat(20_000)],
    ["a://b:".repeat(10_000)],
    ["a://b:c@sha1".repeat(5_000)],
    ["aA1-".repeat(16_000)],
    ["aA1_ ".repeat(13_000)],
    ["Basic a".repeat(9_000)],
    ["vds_".repeat(16_000)],
    ["webhook_url".repeat(6_000)],
    ["?key=".repeat(13_000)],
    ["password value ".repeat(5_000)],
    [`password${" ".repeat(30_000)}value`],
    ["token>".repeat(11_000)],
    [`token=${"Some(".repeat(13_000)}`],
    ["%25".repeat(20_000)],
    ["[31m".repeat(16_000)],
    [`${"/hooks/a.".repeat(7_000)}`],
    [" .a".repeat(20_000)],
  ])("takes no long time for what is made to take one (%#)", (text) => {
    const began = process.threadCpuUsage();

    maskSecrets(text);

    // Squared, so many characters take many seconds.
    expect(process.threadCpuUsage(began).user).toBeLessThan(1_500_000);
  });

  it.each([
    ...[
      "a://",
      "token-",
      "a-",
      "VEDETTE_SECRET_",
      "aA1_",
      "a_A1",
      "_",
      "eyJ",
      "eyJaaaaaaaa.",
      "[1m",
    ],
    ...["token=Aaa(", 'token="\\', "token:[", 'token",\n"value', "Basic aaaaaaaa", "bearer%20"],
    ...["a.webhook.office.com", "/services/T1234", "a%3A%2F%2Fb", "\\u0041", "-----BEGIN "],
    ...["-----BEGIN PRIVATE KEY-----\nabc\n\n", '{"token":{"a":"', "%25%2541token%3D", "token:|\n"],
  ])("takes about twice as long for twice as much of %j", (part) => {
    const timeOf = (length: number) => {
      const text = part.repeat(length / part.length);
      const runs = Array.from({ length: 4 }, () => {
        const began = process.threadCpuUsage();
        maskSecrets(text);
        return process.threadCpuUsage(began).user;
      });
      return Math.min(...runs);
    };
    timeOf(10_000);

    // Where both are short the clock's own steps count for more.
    expect(timeOf(131_072)).toBeLessThan(3 * timeOf(65_536) + 20_000);
  });
});
