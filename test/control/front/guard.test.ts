import { expect, it } from "vitest";
import { refuseCallByGet, refuseForeign } from "#control/front/guard.ts";

const host = "127.0.0.1:9470";
const of = (headers: Record<string, string>, method = "POST", path = "/query") => ({
  method,
  path,
  headers: { host, ...headers },
});

it.each([
  { host },
  { host: "localhost:9470" },
  { host: "LOCALHOST" },
  { host: "[::1]:9470" },
  { origin: "http://127.0.0.1:9470", "sec-fetch-site": "same-origin" },
  { "sec-fetch-site": "none" },
])("the guard passes %j", (headers) => {
  expect(refuseForeign(of(headers))).toBeUndefined();
});

it.each([
  [{ host: "" }, 421],
  [{ host: "example.com" }, 421],
  [{ host: "127.0.0.1.example.com" }, 421],
  [{ host: "localhost.example.com:9470" }, 421],
  [{ host: "127.0.0.1:9470:80" }, 421],
  [{ host: "user@127.0.0.1" }, 421],
  [{ origin: "null" }, 403],
  [{ origin: "" }, 403],
  [{ origin: "https://127.0.0.1:9470" }, 403],
  [{ origin: "http://localhost:9470" }, 403],
  [{ origin: "http://127.0.0.1:9471" }, 403],
  [{ origin: "http://127.0.0.1:9470.example.com" }, 403],
  [{ "sec-fetch-site": "same-site" }, 403],
  [{ "sec-fetch-site": "cross-site" }, 403],
  [{ "sec-fetch-site": "nonsense" }, 403],
] as const)("the guard refuses %j with %i", (headers, status) => {
  expect(refuseForeign(of(headers))?.status).toBe(status);
});

const visit = {
  "sec-fetch-site": "cross-site",
  "sec-fetch-mode": "navigate",
  "sec-fetch-dest": "document",
};

it("the guard lets a link on another site open the console, and nothing else", () => {
  expect(refuseForeign(of(visit, "GET", "/ui/overview"))).toBeUndefined();
  expect(refuseForeign(of(visit, "GET", "/query"))?.status).toBe(403);
  expect(refuseForeign(of(visit, "POST", "/ui/overview"))?.status).toBe(403);
  expect(refuseForeign(of({ ...visit, "sec-fetch-dest": "iframe" }, "GET", "/ui/"))?.status).toBe(
    403,
  );
});

it.each([
  ["POST", "/S/k/H", undefined],
  ["GET", "/restate/health", undefined],
  ["GET", "/restate/invocation/inv_1/attach", undefined],
  ["GET", "/restate/invocation/S/k/H/key/output", undefined],
  ["GET", "/restate/workflow/W/k/attach", undefined],
  ["GET", "/restate/attach/inv_1", undefined],
  ["GET", "/restate/output/inv_1", undefined],
  ["GET", "/restate/lookup", undefined],
  ["GET", "/openapi", undefined],
  ["GET", "/S/k/H", 405],
  ["HEAD", "/S/k/H", 405],
  ["GET", "/restate/call/S/k/H", 405],
  ["GET", "/restate/send/S/k/H", 405],
  ["GET", "/restate/scope/s/call/S/k/H", 405],
  ["GET", "/restate/scope/s/send/S/k/H", 405],
  ["GET", "/restate/invocation/inv_1/cancel", 405],
  ["GET", "/restate/awakeables/a/resolve", 405],
  ["GET", "/restate/%63all/S/k/H", 405],
  ["GET", "/restate//call/S/k/H", 405],
])("the guard answers a call by %s of %s with %s", (method, path, status) => {
  expect(refuseCallByGet(of({}, method, path))?.status).toBe(status);
});
