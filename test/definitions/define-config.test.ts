/** What the types of a file of definitions accept. The compiler is the judge: it complains of an error that is not there. */
import { expect, it } from "vitest";
import { defineConfig } from "#definitions/define-config.ts";

const id = "a";
const token = { token: { source: "json", path: "data.token" } } as const;

it("a file may have checks of every kind, as a list or by id", () => {
  const rows = defineConfig({
    checks: [
      { id, url: "https://shop.example.com/health" },
      { id, path: "/v2/liveness", method: "POST" },
      { id, kind: "http", path: "/v2/liveness" },
      { id, kind: "tcp", host: "db.example.com", port: 5432 },
      { id, kind: "dns", domain: "example.com", type: "MX" },
      { id, kind: "tls", host: "shop.example.com", degradedBelowDays: 21 },
      {
        id,
        kind: "steps",
        steps: [{ path: "/login", extract: token }, { url: "https://a.example" }],
      },
    ],
  });
  const byId = defineConfig({
    checks: {
      web: { url: "https://shop.example.com/health" },
      database: { kind: "tcp", host: "db.example.com", port: 5432 },
      order: { kind: "steps", steps: [{ path: "/orders", method: "PUT" }] },
      gone: null,
    },
    channels: { chat: { kind: "slack", url: "{{SLACK}}" } },
  });

  expect([rows, byId]).toHaveLength(2);
});

it("a request without an address, or with two, is refused", () => {
  const refused = [
    // @ts-expect-error: it has no address
    defineConfig({ checks: [{ id }] }),
    // @ts-expect-error: it has two
    defineConfig({ checks: [{ id, url: "https://a.example", path: "/" }] }),
    // @ts-expect-error: by its id, too
    defineConfig({ checks: { web: { url: "https://a.example", path: "/" } } }),
    // @ts-expect-error: a step needs one
    defineConfig({ checks: [{ id, kind: "steps", steps: [{ method: "GET" }] }] }),
    // @ts-expect-error: a connection has none
    defineConfig({ checks: [{ id, kind: "tcp", host: "a", port: 1, url: "https://a.example" }] }),
  ];

  expect(refused).toHaveLength(5);
});
