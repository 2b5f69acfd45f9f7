import { expect, it } from "vitest";
import type { ApiCheck } from "#monitor/contract.ts";
import { kindOf } from "#monitor/kinds/contract.ts";
import { anApiCheck } from "../../support/monitor/check-builders.ts";

const http = anApiCheck({ headers: { authorization: "Bearer word" }, body: { password: "word" } });
const { method, path, headers, body, assertions, ...common } = http;
const step = { name: null, method, path: "/login", headers, body, assertions, extract: {} };
const tls = { kind: "tls", host: "::1", port: 443, degradedBelowDays: 30, failedBelowDays: 7 };

it.each<[object, object]>([
  [http, { method: "POST", path: "/v2/keys.verifyKey", details: [] }],
  [
    { ...common, kind: "tcp", host: "db.example.com", port: 5432, send: "word", expect: "OK" },
    {
      ...{ method: "TCP", path: "db.example.com:5432" },
      details: [{ name: "Expects", value: "OK" }],
    },
  ],
  [
    { ...common, kind: "dns", domain: "example.com", type: "MX", servers: [], expect: ["a", "b"] },
    {
      ...{ method: "DNS", path: "MX example.com" },
      details: [{ name: "Expects", value: "a, b" }],
    },
  ],
  [
    { ...common, ...tls, servername: "shop.example.com" },
    {
      ...{ method: "TLS", path: "[::1]:443" },
      details: [
        { name: "Name", value: "shop.example.com" },
        { name: "Degraded below", value: "30 days left" },
        { name: "Failed below", value: "7 days left" },
      ],
    },
  ],
  [
    { ...common, ...tls, servername: "::1", starttls: "smtp" },
    {
      ...{ method: "TLS", path: "[::1]:443" },
      details: [
        { name: "STARTTLS", value: "smtp" },
        { name: "Degraded below", value: "30 days left" },
        { name: "Failed below", value: "7 days left" },
      ],
    },
  ],
  [
    { ...common, kind: "steps", steps: [step, { ...step, name: "pay", path: "/{{order_id}}" }] },
    {
      ...{ method: "STEPS", path: "2 requests" },
      details: [
        { name: "Step 1", value: "POST /login" },
        { name: "Step 2", value: "pay: POST /{{order_id}}" },
      ],
    },
  ],
])("%j is described without what may be secret", (check, described) => {
  const words = kindOf(check as ApiCheck).describe(check as ApiCheck);

  expect(words).toEqual(described);
  expect(JSON.stringify(words)).not.toContain("word");
});
