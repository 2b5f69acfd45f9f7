/** Checks of other kinds than HTTP in the exports. */
import { expect, it } from "vitest";
import type { ApiCheck } from "#monitor/contract.ts";
import { findUnprobed, writeOther } from "#monitor/export/other-kinds.ts";
import { anApiCheck } from "../../support/monitor/check-builders.ts";

const { method, path, headers, body, assertions, ...common } = anApiCheck({ id: "a" });
const tcp = { ...common, kind: "tcp", host: "::1", port: 25, send: null, expect: null } as const;
const dns = {
  ...{ ...common, kind: "dns", domain: "example.com", type: "MX" },
  ...{ servers: ["192.0.2.53"], expect: ["10 mail.example.com"] },
} as const;
const asIs = (text: string) => text;
const written = (check: object) => writeOther(check as ApiCheck, asIs);

it("TCP sends lines and looks for the text as it is", () => {
  const { target, module } = written({ ...tcp, send: "EHLO a\r\n", expect: "250 (ok)" }) ?? {};

  expect(target).toBe("[::1]:25");
  expect(module).toMatchObject({
    prober: "tcp",
    tcp: { query_response: [{ send: "EHLO a\r" }, { expect: "250 \\(ok\\)" }] },
  });
});

it("a pattern for DNS fits the record and no longer one", () => {
  const module = written(dns)?.module as {
    dns: { validate_answer_rrs: { fail_if_none_matches_regexp: string[] } };
  };
  const [pattern = ""] = module.dns.validate_answer_rrs.fail_if_none_matches_regexp;
  const fits = (record: string) => new RegExp(pattern.replace("(?i)", ""), "i").test(record);

  expect(fits("example.com.\t300\tIN\tMX\t10 Mail.example.com.")).toBe(true);
  expect(fits("example.com.\t300\tIN\tMX\t110 mail.example.com.")).toBe(false);
  expect(fits("example.com.\t300\tIN\tMX\t10 mail.example.com.au.")).toBe(false);
});

it.each([
  [{ ...dns, servers: [] }, /one name server/],
  [{ ...dns, expect: ["a", "b"] }, /one value/],
  [{ ...tcp, send: "PING" }, /line end/],
  [{ ...tcp, expect: "a\nb" }, /single lines/],
  [{ ...common, kind: "steps", steps: [] }, /one request/],
  [{ ...common, kind: "tls", host: "a", port: 25, starttls: "smtp" }, /start TLS at once/],
])("%j is left out, with the reason", (check, reason) => {
  expect(findUnprobed({ apiChecks: [check as unknown as ApiCheck] })).toEqual([
    expect.stringMatching(reason),
  ]);
  expect(written(check)).toBeNull();
});
