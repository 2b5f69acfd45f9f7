/** What rows of the other kinds than HTTP may say. */
import { describe, expect, it } from "vitest";
import { CheckRow } from "#definitions/rows/check.ts";
import { emptySet } from "#definitions/rows/contract.ts";
import { lintSet } from "#definitions/rules/lint.ts";
import { toMonitored } from "#definitions/rules/monitored.ts";
import { ApiCheck } from "#monitor/contract.ts";

const tcp = { id: "a", kind: "tcp", host: "db.example.com", port: 5432 };
const dns = { id: "a", kind: "dns", domain: "example.com" };
const tls = { id: "a", kind: "tls", host: "shop.example.com" };
const steps = { id: "a", kind: "steps", steps: [{ path: "/a" }, { path: "/b" }] };
const monitored = (row: object) =>
  toMonitored({ ...emptySet, checks: [CheckRow.parse(row)] }).apiChecks[0];

describe("a row", () => {
  it.each([
    [tcp, { host: "db.example.com", port: 5432, send: null, expect: null }],
    [dns, { domain: "example.com", type: "A", servers: [], expect: [] }],
    [
      tls,
      {
        ...{ host: "shop.example.com", port: 443, servername: "shop.example.com" },
        ...{ degradedBelowDays: 30, failedBelowDays: 7 },
      },
    ],
    [
      { ...tls, port: 587, starttls: "smtp" },
      { port: 587, starttls: "smtp" },
    ],
    [steps, { steps: [{ name: null, method: "GET", path: "/a", extract: {} }, { path: "/b" }] }],
  ])("%j is monitored with its defaults", (row, wanted) => {
    const check = monitored(row);

    expect(check).toMatchObject({ kind: row.kind, failedAboveMs: 10_000, ...wanted });
    expect(ApiCheck.parse(check)).toEqual(check);
  });

  it("without a kind is monitored as one of HTTP", () => {
    expect(monitored({ id: "a", kind: "http", path: "/a" })).toEqual(
      monitored({ id: "a", path: "/a" }),
    );
  });

  it.each([
    { ...dns, expect: ["192.0.2.1"] },
    { ...dns, type: "AAAA", expect: ["2001:DB8:0::1"] },
    { ...dns, type: "MX", expect: ["10 mail.example.com."] },
    { ...dns, type: "SRV", expect: ["0 5 443 host.example.com"] },
    { ...dns, type: "CAA", expect: ['0 issue "ca.example.com"'] },
    { ...dns, type: "PTR", expect: ["Host.example.com."] },
    { ...dns, type: "TXT", expect: ["v=spf1 -all"] },
  ])("%j is fine", (row) => {
    expect(CheckRow.safeParse(row).error).toBeUndefined();
  });

  it.each([
    [{ ...tcp, url: "https://a.example/" }, ""],
    [{ ...tcp, port: 70_000 }, "port"],
    [{ ...tcp, host: "db.example.com:5432" }, "host"],
    [{ ...tcp, expect: "" }, "expect"],
    [{ ...tcp, expect: "ä".repeat(2_049) }, "expect"],
    [{ ...dns, type: "ANY" }, "type"],
    [{ ...dns, expect: ["www.example.com"] }, "expect"],
    [{ ...dns, expect: ["2001:db8::1"] }, "expect"],
    [{ ...dns, type: "AAAA", expect: ["192.0.2.1"] }, "expect"],
    [{ ...dns, type: "MX", expect: ["mail.example.com"] }, "expect"],
    [{ ...dns, type: "SRV", expect: ["host.example.com:443"] }, "expect"],
    [{ ...dns, type: "CAA", expect: ["ca.example.com"] }, "expect"],
    [{ ...dns, type: "NS", expect: ["ns1.example.com ns2.example.com"] }, "expect"],
    [{ ...dns, domain: "bücher.example" }, "domain"],
    [{ ...dns, servers: ["dns.example.com"] }, "servers"],
    [{ ...tls, servername: "192.0.2.1:443" }, "servername"],
    [{ ...tls, degradedBelowDays: 5 }, "failedBelowDays"],
    [{ ...tls, starttls: "ldap" }, "starttls"],
    [{ ...steps, steps: [] }, "steps"],
    [{ ...steps, steps: Array(21).fill({ path: "/" }) }, "steps"],
    [{ ...steps, steps: [{ path: "/", url: "https://a.example/" }] }, "steps"],
    [{ ...steps, steps: [{ path: "/", extract: { ID: { source: "json", path: "a" } } }] }, "steps"],
    [{ id: "a", kind: "icmp" }, "kind"],
  ])("%j is refused", (row, field) => {
    const { error } = CheckRow.safeParse(row);

    expect(error?.issues.map(({ path }) => path[0] ?? "")).toEqual([field]);
  });
});

describe("a placeholder in steps", () => {
  const taking = { path: "/a", extract: { order_id: { source: "json", path: "id" } } };
  const faultsOf = (given: object[]) =>
    lintSet({ ...emptySet, checks: [CheckRow.parse({ ...steps, steps: given })] }).map(
      ({ field = [], message }) => [field.join("."), message],
    );

  it("may be a secret, or what an earlier step took", () => {
    expect(faultsOf([taking, { path: "/{{order_id}}", headers: { a: "{{TOKEN}}" } }])).toEqual([]);
  });

  it("is refused before the step that takes it", () => {
    expect(faultsOf([{ path: "/{{order_id}}" }, taking])).toEqual([
      ["steps.0.path", "{{order_id}} is used before a step takes it from its answer"],
    ]);
  });

  it("is refused when no step takes it", () => {
    expect(faultsOf([taking, { path: "/{{item}}" }])).toMatchObject([
      ["steps.1.path", expect.stringMatching(/^no step takes \{\{item\}\}/)],
    ]);
  });

  it.each(["https://{{order_id}}/a", "https://a.example{{order_id}}", "http://a.{{order_id}}:80/"])(
    "of an answer is refused in the host of %s",
    (url) => {
      expect(faultsOf([taking, { url }])).toMatchObject([
        ["steps.1.url", expect.stringMatching(/^what a step takes .* must not name the host/)],
      ]);
    },
  );

  it("is refused in a check of HTTP", () => {
    const row = CheckRow.parse({ id: "a", path: "/{{order_id}}" });

    expect(lintSet({ ...emptySet, checks: [row] })).toHaveLength(1);
  });
});
