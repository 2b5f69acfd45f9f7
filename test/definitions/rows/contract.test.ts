/** What a row may say. */
import { describe, expect, it } from "vitest";
import { CheckRow } from "#definitions/rows/check.ts";
import { HeartbeatRow } from "#definitions/rows/heartbeat.ts";

const shop = { id: "shop", url: "https://shop.example.com/health" };
const faultsOf = (row: object) =>
  (CheckRow.safeParse(row).error?.issues ?? []).map(({ path, message }) => [path[0], message]);

describe("a check", () => {
  it("is a GET that expects 200 within 10 seconds, every minute, unless it says otherwise", () => {
    expect(CheckRow.parse(shop)).toEqual({
      ...shop,
      name: "shop",
      kind: "http",
      environment: "production",
      method: "GET",
      headers: {},
      body: null,
      assertions: [{ source: "status", equals: 200 }],
      frequencySeconds: 60,
      degradedAboveMs: 5_000,
      failedAboveMs: 10_000,
      failedRunThreshold: 1,
      channels: [],
      dependsOn: [],
    });
  });

  it("says of a password in an address that it is that", () => {
    expect(faultsOf({ ...shop, url: "https://user:secret@shop.example.com/" })).toEqual([
      ["url", "has a user or a password: put it in a header, as {{NAME}} of a secret"],
    ]);
    expect(faultsOf({ ...shop, url: "nope" })).toEqual([
      ["url", "has to be a whole address such as https://shop.example.com/health"],
    ]);
  });

  it.each([
    ["url", "https://a.example/#top", "has a #, after which nothing counts: write it as %23"],
    ["url", "https://a.example/b c", "has a blank or a line end in it: a blank is written %20"],
    ["url", " https://a.example/", "begins or ends with a blank or a line end: remove it"],
    ["url", "https://a.example:70000/", "has a port that is no number from 0 to 65535"],
    ["path", "/v2/x #", "has a blank or a line end in it: a blank is written %20"],
    ["path", "/v2/x#y", "has a #, after which nothing counts: write it as %23"],
    ["path", "v2/x", "has to begin with /: a path such as /v2/liveness"],
  ])("says what is wrong with its %s %j", (field, given, message) => {
    expect(faultsOf({ id: "shop", [field]: given })).toEqual([[field, message]]);
  });

  it.each(["https://{{HOST}}/a?key={{API_KEY}}", "https://a.example/{{B C}}"])(
    "takes the address %s with a name between double braces",
    (url) => {
      expect(faultsOf({ ...shop, url })).toEqual([]);
    },
  );

  it.each([
    [{ id: "Shop" }, "id"],
    [{ name: " " }, "name"],
    [{ url: "shop.example.com" }, "url"],
    [{ url: "ftp://shop.example.com/" }, "url"],
    [{ url: "https://user:secret@shop.example.com/" }, "url"],
    [{ path: "/health" }, "path"],
    [{ url: undefined }, "id"],
    [{ url: undefined, path: "health" }, "path"],
    [{ body: {} }, "body"],
    [{ headers: { "a b": "c" } }, "headers"],
    [{ headers: { a: "two\r\nlines" } }, "headers"],
    [{ assertions: [] }, "assertions"],
    [{ assertions: [200, 201].map((equals) => ({ source: "status", equals })) }, "assertions"],
    [{ assertions: [{ source: "status", equals: [] }] }, "assertions"],
    [{ assertions: [{ source: "status", equals: 999 }] }, "assertions"],
    [{ assertions: [{ source: "status", equals: 101 }] }, "assertions"],
    [{ assertions: [{ source: "status", equals: "1xx" }] }, "assertions"],
    [{ assertions: [{ source: "status", equals: "200" }] }, "assertions"],
    [{ assertions: [{ source: "status", equals: [200, "20x"] }] }, "assertions"],
    [{ assertions: [{ source: "header", name: "content-type:", contains: "json" }] }, "assertions"],
    [{ assertions: [{ source: "header", name: "content type", contains: "json" }] }, "assertions"],
    [{ assertions: [{ source: "header", name: "etag", contains: "a\nb" }] }, "assertions"],
    [{ assertions: [{ source: "json", path: "a[*].b", equals: 1 }] }, "assertions"],
    [{ frequencySeconds: 9 }, "frequencySeconds"],
    [{ degradedAboveMs: 0 }, "degradedAboveMs"],
    [{ degradedAboveMs: 2_000, failedAboveMs: 1_000 }, "degradedAboveMs"],
    [{ failedAboveMs: 31_000 }, "failedAboveMs"],
    [{ frequencySeconds: 10, failedAboveMs: 10_000 }, "failedAboveMs"],
    [{ failedRunThreshold: 0 }, "failedRunThreshold"],
    [{ channels: Array.from({ length: 11 }, (_, i) => `c${i}`) }, "channels"],
  ])("with %j is refused", (fields, field) => {
    expect(faultsOf({ ...shop, ...fields }).map(([name]) => name)).toEqual([field]);
  });
});

describe("assertions that cannot hold together", () => {
  const status = (equals: unknown) => ({ source: "status", equals });
  const json = (path: string, equals: unknown) => ({ source: "json", path, equals });

  it.each([
    [
      "two statuses",
      [status(200), status(404)],
      "asserts more than one status: name them in one list, as [200, 204]",
    ],
    [
      "two values at one place, however it is written",
      [json("$.data.ok", true), json('data["ok"]', false)],
      'asserts two values of data["ok"]',
    ],
    [
      "a value of a body that no answer of the status has",
      [status([204, 304]), json("ok", true)],
      "takes a value of a body, which an answer of the asserted status does not have",
    ],
  ])("are refused: %s", (_, assertions, message) => {
    expect(faultsOf({ ...shop, assertions })).toEqual([["assertions", message]]);
  });

  it.each(["200", "1xx", ["200-299"], ["2xx", "ok"]])("a text is no status: %j", (equals) => {
    expect(faultsOf({ ...shop, assertions: [status(equals)] })).toEqual([
      ["assertions", "is no class of statuses, such as 2xx"],
    ]);
  });

  it("are refused in a step, with what it takes from an answer without a body", () => {
    const step = {
      url: "https://shop.example.com/",
      assertions: [status(204)],
      extract: { order_id: { source: "json", path: "id" } },
    };

    expect(faultsOf({ id: "order", kind: "steps", steps: [step] })).toEqual([
      ["steps", "takes a value of a body, which an answer of the asserted status does not have"],
    ]);
  });
});

it.each([
  { source: "status", equals: [200, 204] },
  { source: "status", equals: "2xx" },
  { source: "status", equals: ["2XX", 304] },
  { source: "json", path: "$.data.roles[0]", equals: "a" },
  { source: "json", path: 'labels["app.name"]', equals: "a" },
])("a check may assert %j", (assertion) => {
  expect(faultsOf({ ...shop, assertions: [assertion] })).toEqual([]);
});

it("a path that can never hold is refused where it is, with the right spelling", () => {
  const assertions = [{ source: "json", path: "/data/valid", equals: true }];

  expect(CheckRow.safeParse({ ...shop, assertions }).error?.issues).toMatchObject([
    {
      path: ["assertions", 0, "path"],
      message: "is no path to one value: write data.valid",
    },
  ]);
});

it("a check that runs often has thresholds that fit its period", () => {
  const { degradedAboveMs, failedAboveMs } = CheckRow.parse({ ...shop, frequencySeconds: 10 });

  expect([degradedAboveMs, failedAboveMs]).toEqual([5_000, 9_000]);
});

describe("a heartbeat", () => {
  const nightly = { id: "nightly", periodSeconds: 86_400, graceSeconds: 3_600 };

  it("is described by its name, and is called by its id without one", () => {
    expect(HeartbeatRow.parse(nightly)).toMatchObject({ name: "nightly", watches: "nightly" });
    expect(HeartbeatRow.parse({ ...nightly, name: "Backup" }).watches).toBe("Backup");
  });

  it.each([
    { periodSeconds: 29 },
    { periodSeconds: 366 * 86_400 },
    { graceSeconds: -1 },
    { watches: "" },
  ])("with %j is refused", (fields) => {
    expect(HeartbeatRow.safeParse({ ...nightly, ...fields }).success).toBe(false);
  });
});

describe("the schedule of a heartbeat", () => {
  const nightly = { id: "backup", graceSeconds: 60 };
  const heartbeatFaults = (row: object) =>
    (HeartbeatRow.safeParse({ ...nightly, ...row }).error?.issues ?? []).map(
      ({ path, message }) => `${String(path[0])} ${message}`,
    );

  it("is by a period or by a cron", () => {
    expect(heartbeatFaults({ periodSeconds: 60 })).toEqual([]);
    expect(
      heartbeatFaults({ cron: "0 3 * * 1-5", timezone: "Europe/Berlin", earlySeconds: 60 }),
    ).toEqual([]);
    expect(heartbeatFaults({})).toEqual(["periodSeconds is missing, as is cron: give one"]);
    expect(heartbeatFaults({ periodSeconds: 60, cron: "0 3 * * *" })).toEqual([
      "cron is there beside periodSeconds: give one of them",
    ]);
    expect(heartbeatFaults({ periodSeconds: 60, timezone: "UTC" })).toEqual([
      "timezone belongs to cron, which is missing",
    ]);
  });

  it("reads its cron by the dialect of the row", () => {
    const cron = "5/15 2 * * *";

    expect(heartbeatFaults({ cron, cronDialect: "kubernetes" })).toEqual([]);
    expect(heartbeatFaults({ cron, cronDialect: "debian" })).toHaveLength(1);
    expect(heartbeatFaults({ cron: "0 0 * * 7", cronDialect: "kubernetes" })).toHaveLength(1);
    expect(heartbeatFaults({ cron, cronDialect: "quartz" })).toHaveLength(1);
    expect(heartbeatFaults({ periodSeconds: 60, cronDialect: "kubernetes" })).toEqual([
      "cronDialect belongs to cron, which is missing",
    ]);
  });

  it("says at the field what is wrong with its cron or its zone", () => {
    expect(heartbeatFaults({ cron: "0 0 31 2 *" })).toEqual(["cron names a time that never comes"]);
    expect(heartbeatFaults({ cron: "0 3 * * *", timezone: "+02:00" })).toEqual([
      "timezone has to be the name of a time zone, such as Europe/Berlin or UTC; an offset knows no summer time",
    ]);
  });
});
