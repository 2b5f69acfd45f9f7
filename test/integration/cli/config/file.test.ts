/** The commands about a file of definitions, which need no running program. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { directoryOf, readFiles } from "../../../support/definitions/definition-files.ts";
import { standardRows } from "../../../support/monitor/standard-definitions.ts";
import { runVedette } from "../../../support/program/command.ts";

const run = (directory: string, ...args: string[]) => runVedette(args, {}, directory);
const faulty = { "vedette.config.yaml": "checks:\n  - {id: shop, path: /, frequencySeconds: 5}\n" };
const own = { "vedette.config.yaml": "checks:\n  - {id: shop, path: /}\n" };

it("init writes both files, which are read without mistakes", async () => {
  const directory = directoryOf({});

  const written = await run(directory, "init");
  const checked = await run(directory, "config", "check");

  expect(written).toMatchObject({ code: 0, stderr: "" });
  expect(written.stdout).toContain("vedette start");
  expect(readdirSync(directory).sort()).toEqual(["vedette.config.ts", "vedette.toml"]);
  expect(checked).toEqual({
    code: 0,
    stdout:
      "vedette.config.ts: no mistakes (2 channels, 3 checks, 7 heartbeats, 9 sources, 6 routes)\n",
    stderr: "",
  });
});

it.each(["vedette.toml", "vedette.config.json"])("init overwrites nothing: %s", async (name) => {
  const directory = directoryOf({ [name]: "" });

  const { code, stderr } = await run(directory, "init");

  expect(code).toBe(1);
  expect(stderr).toBe(`vedette: ${name} is here already: nothing was written\n`);
  expect(readdirSync(directory)).toEqual([name]);
});

it("config check names each mistake, and ends with 1", async () => {
  const { code, stdout } = await run(directoryOf(faulty), "config", "check");

  expect(code).toBe(1);
  expect(stdout.split("\n")).toEqual([
    "vedette.config.yaml:2:25: checks.shop.frequencySeconds: expected a whole number from 10 to 86400, got 5",
    "1 mistake",
    "",
  ]);
});

it("config check runs the tests of routes, and names those that fail", async () => {
  const rows = {
    sources: [
      { name: "am", title: "Am", kind: "alertmanager", environment: "production", labels: {} },
    ],
    routes: {
      Pages: {
        sources: [{ source: "am", conditions: [] }],
        escalation: "On-Call",
        channel: "#alerts",
        activeTimes: [{ from: "09:00", until: "17:00", timezone: "Europe/Berlin" }],
        tests: ["2026-11-27T10:00:00Z", "2026-11-27T20:00:00Z"].map((at) => ({
          alert: { source: "am" },
          at,
          expect: ["On-Call", "#alerts"],
        })),
      },
    },
  };
  const directory = directoryOf({ "vedette.config.json": JSON.stringify(rows, null, 2) });

  const { code, stdout } = await run(directory, "config", "check");

  expect(code).toBe(1);
  expect(stdout).toMatch(
    /^vedette\.config\.json:\d+:\d+: routes\.Pages\.tests\.1: expected On-Call, #alerts, found nobody \(Pages sends nothing at this time\)\n1 mistake\n$/,
  );
});

it("config check warns of a channel for messages of rollouts that is no row", async () => {
  const settings = '[rollout]\nchannels = ["ops-chat"]\n';
  const directory = directoryOf({ ...own, "vedette.toml": settings });

  const { code, stdout } = await run(directory, "config", "check");

  expect(code).toBe(0);
  expect(stdout).toContain(
    "warning: channels.ops-chat: setting rollout.channels: there is no channel ops-chat",
  );
});

it("config check warns of a secret that is not set here, and finds no mistake in it", async () => {
  const url = "https://shop.example.com/";
  const row = `{id: shop, url: "${url}", environment: staging, headers: {authorization: "{{TOKN}}"}}`;
  const directory = directoryOf({ "vedette.config.yaml": `checks:\n  - ${row}\n` });

  const { code, stdout } = await run(directory, "config", "check");
  const json = await run(directory, "config", "check", "--json");

  expect({ code, stdout }).toEqual({
    code: 0,
    stdout:
      "vedette.config.yaml: no mistakes (1 check)\nwarning: checks.shop: off: set VEDETTE_SECRET_TOKN\n",
  });
  expect(JSON.parse(json.stdout).warnings).toEqual([
    { section: "checks", key: "shop", message: "off: set VEDETTE_SECRET_TOKN" },
  ]);
});

it("config check warns of a channel that lacks a secret here", async () => {
  const row = '{id: hook, kind: webhook, url: "https://hooks.example.com/", secret: "{{TOKN}}"}';
  const directory = directoryOf({ "vedette.config.yaml": `channels:\n  - ${row}\n` });

  const { stdout } = await run(directory, "config", "check");

  expect(stdout).toContain("warning: channels.hook: sends nothing: set VEDETTE_SECRET_TOKN\n");
});

it("config check --json has the places for programs", async () => {
  const { code, stdout } = await run(directoryOf(faulty), "config", "check", "--json");

  expect(code).toBe(1);
  expect(JSON.parse(stdout).faults[0]).toEqual({
    file: "vedette.config.yaml",
    line: 2,
    column: 25,
    where: "checks.shop.frequencySeconds",
    message: "expected a whole number from 10 to 86400, got 5",
  });
});

it("config check takes the file that --config names, or that of the settings", async () => {
  const directory = directoryOf({
    "rows/a.yaml": own["vedette.config.yaml"],
    "b.yaml": "",
    "vedette.toml": '[definitions]\nfile = "b.yaml"\n',
  });

  const named = await run(directory, "config", "check", "--config", "rows/a.yaml");
  const set = await run(directory, "config", "check");

  expect(named.stdout).toBe("rows/a.yaml: no mistakes (1 check)\n");
  expect(set.stdout).toBe("b.yaml: no mistakes (no rows)\n");
});

it("config check says that the standard rows apply where there is no file", async () => {
  const { code, stdout } = await run(directoryOf({}), "config", "check");

  expect(code).toBe(0);
  expect(stdout).toContain("no vedette.config.* here: the standard rows apply");
});

it("config print is a file with the same rows", async () => {
  const { stdout } = await run(directoryOf({}), "config", "print");

  expect((await readFiles({ "vedette.config.yaml": stdout })).set).toEqual(standardRows);
});

it("config print --json has the files, the rows and what is removed", async () => {
  const directory = directoryOf({ "vedette.config.yaml": "checks: {liveness: null}" });

  const { stdout } = await run(directory, "config", "print", "--json");

  expect(JSON.parse(stdout)).toMatchObject({
    files: ["vedette.config.yaml"],
    removed: [{ section: "checks", key: "liveness" }],
    definitions: { checks: [] },
  });
});

it("checks add appends a check with what was given, and says what to do next", async () => {
  const directory = directoryOf(own);
  const url = "https://shop.example.com/health?full=1";
  const options = ["--every", "30s", "--expect", "204", "--failed-above", "5s", "--name", "Shop"];

  const { code, stdout } = await run(directory, "checks", "add", url, ...options);

  expect(code).toBe(0);
  expect(stdout).toContain("Added checks.shop-example-com-health to vedette.config.yaml.");
  expect(stdout).toContain("alerts nobody");
  expect(stdout).toContain("vedette config plan");
  expect(
    parse(readFileSync(path.join(directory, "vedette.config.yaml"), "utf8")).checks[1],
  ).toEqual({
    id: "shop-example-com-health",
    name: "Shop",
    url,
    assertions: [{ source: "status", equals: 204 }],
    frequencySeconds: 30,
    failedAboveMs: 5_000,
  });
});

it("checks add prints the row to paste into TypeScript, and where it goes", async () => {
  const text = "export default { checks: [] };\n";
  const directory = directoryOf({ "vedette.config.ts": text });

  const { code, stdout } = await run(directory, "checks", "add", "https://a.example/");

  expect(code).toBe(0);
  expect(stdout).toContain(
    'Paste this into checks of vedette.config.ts, which was not changed:\n\n{ id: "a-example", url: "https://a.example/" },\n',
  );
  expect(readFileSync(path.join(directory, "vedette.config.ts"), "utf8")).toBe(text);
});

it("checks add --json has the row to paste into TypeScript", async () => {
  const directory = directoryOf({ "vedette.config.ts": "export default { checks: [] };\n" });

  const { stdout } = await run(directory, "checks", "add", "https://a.example/", "--json");

  expect(JSON.parse(stdout)).toMatchObject({
    file: "vedette.config.ts",
    paste: '{ id: "a-example", url: "https://a.example/" },',
  });
});

it("checks add writes nothing that would have mistakes", async () => {
  const directory = directoryOf(own);

  const { code, stderr } = await run(
    directory,
    "checks",
    "add",
    "https://a.example/",
    "--channel",
    "x",
  );

  expect(code).toBe(1);
  expect(stderr).toContain("nothing was written, since vedette.config.yaml would have faults:");
  expect(stderr).toContain("checks.a-example.channels.0: there is no such channel");
  expect(readFileSync(path.join(directory, "vedette.config.yaml"), "utf8")).toBe(
    own["vedette.config.yaml"],
  );
});

it("heartbeats add appends a heartbeat, and says how its address is made", async () => {
  const directory = directoryOf({ "vedette.config.json": '{"extends": ["standard"]}' });
  const options = ["--every", "1d", "--grace", "1h", "--channel", "production", "--json"];

  const asText = await run(
    directory,
    "heartbeats",
    "add",
    "Nightly Backup",
    ...options.slice(0, -1),
  );
  const asJson = await run(directory, "heartbeats", "add", "Other", ...options);

  expect(asText.stdout).toContain("vedette heartbeats register nightly-backup");
  expect(asText.stdout).not.toContain("alerts nobody");
  expect(JSON.parse(asJson.stdout)).toEqual({
    file: "vedette.config.json",
    section: "heartbeats",
    row: {
      id: "other",
      name: "Other",
      periodSeconds: 86_400,
      graceSeconds: 3_600,
      channels: ["production"],
    },
  });
});
