import { expect, it } from "vitest";
import { MisdirectedSecret } from "#kernel/secrets.ts";
import { buildRequest } from "#monitor/kinds/request.ts";
import { buildText } from "#monitor/kinds/tcp.ts";
import { secretsOf } from "#monitor/probe/secrets.ts";
import { anApiCheck } from "../../support/monitor/check-builders.ts";
import { secretsFrom } from "../../support/monitor/standard-definitions.ts";

const target = {
  baseUrl: "https://api.example.com",
  readSecret: secretsFrom({ KEY: 'a"b\\', ROOT_KEY: "root" }),
};

it("the request has secrets put into headers and body", () => {
  const check = anApiCheck({
    headers: { authorization: "Bearer {{ROOT_KEY}}" },
    body: { key: "{{KEY}}", list: ["{{ROOT_KEY}}-1"], limit: 1, none: null },
  });

  const request = buildRequest(check, target);

  expect(request.headers).toEqual({
    "content-type": "application/json",
    authorization: "Bearer root",
  });
  expect(JSON.parse(request.body ?? "")).toEqual({
    key: 'a"b\\',
    list: ["root-1"],
    limit: 1,
    none: null,
  });
});

it("fills in no placeholder inside a secret", () => {
  const check = anApiCheck({ headers: { authorization: "{{KEY}}" } });
  const readSecret = secretsFrom({ KEY: "{{ROOT_KEY}}", ROOT_KEY: "root" });

  const { headers } = buildRequest(check, { ...target, readSecret });

  expect(headers).toEqual({ authorization: "{{ROOT_KEY}}" });
});

it("the request has no body and no media type where there is none", () => {
  const request = buildRequest(anApiCheck({ method: "GET", path: "/v2/liveness" }), target);

  expect(request).toEqual({
    method: "GET",
    url: "https://api.example.com/v2/liveness",
    headers: {},
    body: null,
  });
});

it("the secrets that a check needs are known", () => {
  const check = anApiCheck({ headers: { a: "{{ROOT_KEY}} {{ROOT_KEY}}" }, body: { b: "{{KEY}}" } });

  expect(secretsOf(check)).toEqual(["ROOT_KEY", "KEY"]);
  expect(secretsOf(anApiCheck())).toEqual([]);
});

it("the request has one media type, the caller's, in whatever case it is written", () => {
  const check = anApiCheck({ headers: { "Content-Type": "application/foo+json" }, body: { a: 1 } });

  expect(buildRequest(check, target).headers).toEqual({ "Content-Type": "application/foo+json" });
});

it("a text for an address with a zone, which is in no URL, is built, and has no secret", () => {
  const target = { host: "fe80::1%eth0", port: 80 };

  expect(buildText({ ...target, send: "hello" }, () => undefined)).toBe("hello");
  expect(() => buildText({ ...target, send: "{{KEY}}" }, secretsFrom({ KEY: "a" }, "a"))).toThrow(
    MisdirectedSecret,
  );
});
