/** `vedette alerts rotate` before a double of the incident service. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSourceTokens } from "#routing/tokens/source-tokens.ts";
import { sources } from "../../../support/monitor/standard-definitions.ts";
import { runVedette } from "../../../support/program/command.ts";
import {
  apiKey,
  idOf,
  startFakeIncidentSources,
} from "../../../support/routing/fake-incident-sources.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const metrics = "alertmanager-production";
const synthetic = "synthetic-production";

/** The service, both token files with the service's tokens, and the settings that name them. */
async function anInstallation() {
  const service = await startFakeIncidentSources({ sources });
  onTestFinished(service.stop);
  const directory = tempDir();
  const file = (source: string) => path.join(directory, source);
  for (const source of [metrics, synthetic]) writeFileSync(file(source), service.tokenOf(source));
  const settings = {
    VEDETTE_INCIDENT__URL: service.url,
    VEDETTE_INCIDENT__API_KEY: apiKey,
    VEDETTE_ALERTMANAGER__PRODUCTION__TOKEN_FILE: file(metrics),
    VEDETTE_ALERTS__PRODUCTION__TOKEN_FILE: file(synthetic),
  };
  const run = (over: Record<string, string> = {}, ...args: string[]) =>
    runVedette(["alerts", "rotate", "--environment", "production", ...args], {
      ...settings,
      ...over,
    });
  return { service, directory, file, run };
}

describe("vedette alerts rotate", () => {
  it("brings new tokens to the files, and shows none", async () => {
    const { service, file, run } = await anInstallation();
    service.setToken(metrics, "fresh-token-a");
    service.setToken(synthetic, "fresh-token-b");

    const { code, stdout, stderr } = await run();

    expect(stderr).toBe("");
    expect(code).toBe(0);
    expect(readFileSync(file(metrics), "utf8")).toBe("fresh-token-a");
    expect(readFileSync(file(synthetic), "utf8")).toBe("fresh-token-b");
    expect(statSync(file(metrics)).mode & 0o777).toBe(0o600);
    expect(stdout).toContain(`has a new token in ${file(metrics)}`);
    expect(stdout).not.toMatch(/token-[ab]|token-1-of/);
  });

  it("tells programs which were replaced", async () => {
    const { service, file, run } = await anInstallation();
    service.setToken(metrics, "fresh-token");

    const { stdout } = await run({}, "--json");
    const aRow = (source: string, outcome: string) => ({
      source,
      source_id: idOf({ name: source }),
      file: file(source),
      outcome,
    });

    expect(JSON.parse(stdout)).toEqual({
      environment: "production",
      webhooks: [aRow(metrics, "replaced"), aRow(synthetic, "unchanged")],
    });
  });

  it("opens no alert with its test events", async () => {
    const { service, run } = await anInstallation();

    await run();

    expect(service.alerts.length).toBeGreaterThan(0);
    expect(service.alerts.filter(({ status }) => status === "firing")).toEqual([]);
  });

  it("puts everything back when the reload command fails", async () => {
    const { service, file, run } = await anInstallation();
    service.setToken(metrics, "fresh-token");

    const { code, stderr } = await run({
      VEDETTE_ALERTMANAGER__PRODUCTION__RELOAD_COMMAND: "false",
    });

    expect(code).toBe(1);
    expect(stderr).toContain("false ended with 1; and not everything could be put back");
    expect(readFileSync(file(metrics), "utf8")).toBe(`token-1-of-${metrics}`);
  });

  it("changes nothing when it may not read the tokens", async () => {
    const { file, run } = await anInstallation();

    const { code, stderr } = await run({ VEDETTE_INCIDENT__API_KEY: "another-key" });

    expect(code).toBe(1);
    expect(stderr).toContain("incident.api_key is not valid, request request-7");
    expect(stderr).toContain("nothing was changed");
    expect(stderr).not.toContain("another-key");
    expect(readFileSync(file(metrics), "utf8")).toBe(`token-1-of-${metrics}`);
  });

  it("says which settings it lacks", async () => {
    const { stderr: noService } = await runVedette([
      ...["alerts", "rotate", "--environment", "staging"],
    ]);

    expect(noService).toContain("alertmanager.staging.token_file is not set");
    expect(noService).toContain("alerts.staging.token_file is not set");
  });

  it("says which sender it left out, since it has no file", async () => {
    const { run } = await anInstallation();

    const { code, stderr } = await run({ VEDETTE_ALERTS__PRODUCTION__TOKEN_FILE: "" });

    expect(code).toBe(0);
    expect(stderr).toBe(`left out: ${synthetic}: alerts.production.token_file is not set\n`);
  });

  it("goes on where it was after it was killed", async () => {
    const { service, directory, file, run } = await anInstallation();
    service.setToken(metrics, "fresh-token");
    const mark = path.join(directory, "reloading");
    const killer = `require("fs").writeFileSync(${JSON.stringify(mark)}, ""); process.kill(process.ppid, "SIGKILL")`;
    const script = path.join(directory, "killer.cjs");
    writeFileSync(script, killer);

    const killed = await run({
      VEDETTE_ALERTMANAGER__PRODUCTION__RELOAD_COMMAND: `${process.execPath},${script}`,
    });
    const again = await run();

    expect(killed.code).toBeNull();
    expect(existsSync(mark)).toBe(true);
    expect(again.code).toBe(0);
    expect(readFileSync(file(metrics), "utf8")).toBe("fresh-token");
    expect(readdirSync(directory).filter((name) => name.endsWith(".new"))).toEqual([]);
  });

  it("makes a file where there was none", async () => {
    const { service, directory, run } = await anInstallation();
    const fresh = path.join(directory, "fresh");

    const { code } = await run({ VEDETTE_ALERTMANAGER__PRODUCTION__TOKEN_FILE: fresh });

    expect(code).toBe(0);
    expect(existsSync(fresh)).toBe(true);
    expect(readFileSync(fresh, "utf8")).toBe(service.tokenOf(metrics));
  });
});

describe("the calls to the incident service", () => {
  const address = { kind: "alertmanager", id: "", title: "Alertmanager (production)" } as const;

  async function aClient() {
    const service = await startFakeIncidentSources({ sources });
    onTestFinished(service.stop);
    return { service, tokens: createSourceTokens({ url: service.url, apiKey }) };
  }

  it("find a source by its title when no id is set", async () => {
    const { tokens } = await aClient();

    expect(await tokens.read(address)).toEqual({
      id: idOf({ name: metrics }),
      token: `token-1-of-${metrics}`,
    });
  });

  it("say so when no source has the title", async () => {
    const { tokens } = await aClient();

    await expect(tokens.read({ ...address, title: "None" })).rejects.toThrow(
      "no alert source is named None: set its id in the settings",
    );
  });

  it("wait as long as they are asked to, and ask again", async () => {
    const { service, tokens } = await aClient();
    service.refuse({ status: 429, headers: { "retry-after": "1" } }, { status: 503 });
    const startedAtMs = performance.now();

    const { token } = await tokens.read(address);

    expect(token).toBe(`token-1-of-${metrics}`);
    expect(performance.now() - startedAtMs).toBeGreaterThan(1_000);
  });

  it("say that a key without the scope sees no token", async () => {
    const { service, tokens } = await aClient();
    service.setToken(metrics, "");

    await expect(tokens.read(address)).rejects.toThrow("scope to update alert sources");
  });

  it("refuse a token that the service does not take", async () => {
    const { tokens } = await aClient();

    await expect(
      tokens.tryOut({ kind: "alertmanager", id: idOf({ name: metrics }) }, "wrong"),
    ).rejects.toThrow("401 (the source's token is not valid");
  });
});
