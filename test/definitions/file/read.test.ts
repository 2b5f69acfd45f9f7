import { describe, expect, it } from "vitest";
import { faultsOf, readFiles } from "../../support/definitions/definition-files.ts";
import { standardRows } from "../../support/monitor/standard-definitions.ts";

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);

describe("readDefinitions", () => {
  it("takes the standard rows where there is no file", async () => {
    const { set, files, removed } = await readFiles({});

    expect({ set, files, removed }).toEqual({ set: standardRows, files: [], removed: [] });
  });

  it("takes the rows of a file without `extends` alone, with their defaults", async () => {
    const { set, files } = await readFiles({
      "vedette.config.yaml": "checks:\n  - {id: shop, url: https://shop.example.com/}\n",
    });

    expect(files).toEqual(["vedette.config.yaml"]);
    expect(set.checks).toEqual([
      expect.objectContaining({ id: "shop", name: "shop", frequencySeconds: 60, method: "GET" }),
    ]);
    expect(set.heartbeats).toEqual([]);
  });

  it("replaces a standard row by the row of the same id, in its place", async () => {
    const { set } = await readFiles({
      "vedette.config.yaml":
        "extends: [standard]\nchecks:\n  - {id: rate-limit, path: /x, channels: [production]}\n",
    });

    expect(idsOf(set.checks)).toEqual(idsOf(standardRows.checks));
    expect(set.checks[1]).toMatchObject({ id: "rate-limit", path: "/x", method: "GET" });
  });

  it("removes a standard row by null, and says so", async () => {
    const { set, removed } = await readFiles({
      "vedette.config.yaml": "extends: [standard]\nchecks: {liveness: null}\n",
    });

    expect(idsOf(set.checks)).toEqual(["verify-key", "rate-limit"]);
    expect(removed).toEqual([{ section: "checks", key: "liveness" }]);
  });

  it("knows a row by its name in an object, so that the row may leave it out", async () => {
    const { set } = await readFiles({
      "vedette.config.yaml":
        "heartbeats: {backup: {periodSeconds: 60, graceSeconds: 0}}\n" +
        "sources: {Mail: {title: Mail, kind: email, environment: null, labels: {}}}\n",
    });

    expect(idsOf(set.heartbeats)).toEqual(["backup"]);
    expect(set.sources[0]?.name).toBe("Mail");
  });

  it("takes a section without a value as an empty one", async () => {
    expect((await readFiles({ "vedette.config.yaml": "checks:\n" })).set.checks).toEqual([]);
  });

  it("reads a file that is named, whatever else is there", async () => {
    const files = { "vedette.config.yaml": "checks: 1", "other.json": '{"checks": []}' };

    expect((await readFiles(files, "other.json")).files).toEqual(["other.json"]);
  });
});

describe("faults", () => {
  it("are all named at once, in the order of their places", async () => {
    const faults = await faultsOf({
      "vedette.config.yaml": [
        "chekcs: []",
        "checks:",
        "  - id: shop",
        "    url: https://shop.example.com/",
        "    degradedAboveMs: 0",
        "    metod: GET",
        "  - id: b",
        "heartbeats: 12",
      ].join("\n"),
    });

    expect(faults).toEqual([
      "vedette.config.yaml:1:1: chekcs: is unknown: did you mean checks?",
      "vedette.config.yaml:5:5: checks.shop.degradedAboveMs: expected a whole number from 1 to 30000, got 0",
      "vedette.config.yaml:6:5: checks.shop.metod: is unknown: did you mean method?",
      "vedette.config.yaml:7:5: checks.b.id: a check has either url or path",
      "vedette.config.yaml:8:1: heartbeats: has to be a list of rows, or an object with a row for each id",
    ]);
  });

  it("of a heartbeat's schedule are named beside those of its other fields", async () => {
    const row =
      '{id: nightly, periodSeconds: 60, cron: "0 25 * * *", graceSecond: 60, channels: []}';

    const faults = await faultsOf({ "vedette.config.yaml": `heartbeats:\n  - ${row}\n` });

    expect(faults.map((line) => line.split(": ").slice(1).join(": "))).toEqual([
      "heartbeats.nightly.graceSeconds: is missing: expected a whole number from 0 to 31536000",
      "heartbeats.nightly.cron: is there beside periodSeconds: give one of them",
      'heartbeats.nightly.cron: has the hour "25", which is none from 0 to 23, nor a range such as 0-23/2',
      "heartbeats.nightly.graceSecond: is unknown: did you mean graceSeconds?",
    ]);
  });

  it("quote no value of a header or a body", async () => {
    const faults = await faultsOf({
      "vedette.config.yaml":
        'checks: [{id: a, path: /, method: POST, headers: {x: "{{hidden 1}}", y: "hid\\u0000den"}, body: hidden}]',
    });

    expect(faults).toHaveLength(2);
    expect(faults.join("\n")).not.toContain("hidden");
  });

  it("name the kinds of an assertion", async () => {
    const faults = await faultsOf({
      "vedette.config.yaml": "checks: [{id: a, path: /, assertions: [{source: body}]}]",
    });

    expect(faults).toEqual([
      'vedette.config.yaml:1:41: checks.a.assertions.0.source: expected one of "status", "header", "json"',
    ]);
  });

  it("name both places of an id that is there twice", async () => {
    const row = "{id: shop, path: /}";

    expect(await faultsOf({ "vedette.config.yaml": `checks:\n  - ${row}\n  - ${row}\n` })).toEqual([
      "vedette.config.yaml:3:5: checks.shop: is there twice: also at vedette.config.yaml:2:5",
    ]);
  });

  it("name two files of which only one can count", async () => {
    const faults = await faultsOf({ "vedette.config.yaml": "", "vedette.config.json": "{}" });

    expect(faults[0]).toContain("vedette.config.yaml and vedette.config.json are both here");
  });

  it("name a standard row that the file breaks", async () => {
    const faults = await faultsOf({
      "vedette.config.yaml": "extends: [standard]\nsources: {critical-mailbox: null}\n",
    });

    expect(faults).toEqual([
      expect.stringMatching(
        /^vedette\.config\.yaml: routes\.Production Alerts\.sources\.2\.source: there is no such source;.*a row of the standard set/,
      ),
    ]);
  });

  it("of an id that is not the name of its row", async () => {
    const faults = await faultsOf({ "vedette.config.json": '{"checks": {"a": {"id": "b"}}}' });

    expect(faults[0]).toBe(
      'vedette.config.json:1:19: checks.a.id: has to be "a", as the row is named here, or be left out',
    );
  });

  it("of what is neither standard nor a list", async () => {
    const faults = await faultsOf({ "vedette.config.yaml": "extends: [basic]\ninclude: a.yaml\n" });

    expect(faults).toEqual([
      "vedette.config.yaml:1:11: extends.0: has to be standard",
      "vedette.config.yaml:2:1: include: has to be a list, such as [checks/*.yaml]",
    ]);
  });

  it.each([
    ["in the directory", undefined],
    ["that is named", "vedette.config.toml"],
  ])("refuse a TOML file %s by the forms that there are", async (_where, file) => {
    const files = { "vedette.config.toml": 'extends = ["standard"]' };

    await expect(readFiles(files, file)).rejects.toThrow(
      /^vedette\.config\.toml: is no TypeScript, JavaScript, YAML or JSON: the name has to end with \.ts, .*\.json$/,
    );
  });

  it("refuse a TOML file beside one of YAML", async () => {
    const files = { "vedette.config.toml": "", "vedette.config.yaml": "checks: []" };

    await expect(readFiles(files)).rejects.toThrow(
      "vedette.config.yaml and vedette.config.toml are both here: keep one",
    );
  });

  it("of a file that is missing, no file, or of another kind", async () => {
    await expect(readFiles({}, "a.yaml")).rejects.toThrow("a.yaml: there is no such file");
    await expect(readFiles({ "a.yaml/b": "" }, "a.yaml")).rejects.toThrow("a.yaml: is not a file");
    await expect(readFiles({ "a.ini": "" }, "a.ini")).rejects.toThrow("has to end with .ts, .mts");
  });
});
