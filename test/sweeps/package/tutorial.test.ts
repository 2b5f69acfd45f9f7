/** docs/tutorial.md, followed from an empty directory with the package, on the oldest Node. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startFakePager } from "../../support/alerts/fake-pager.ts";
import { installNode, oldestNode, packCheckout } from "../../support/program/npm-package.ts";
import { freePorts } from "../../support/program/program.ts";
import { openTerminals } from "../../support/program/terminals.ts";
import { readTutorial, takePorts } from "../../support/repository/tutorial.ts";
import { findUnsaid, type Step } from "../../support/repository/walkthrough.ts";
import { cleanEnvironment } from "../../support/servers/dockerfile.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const key = "R0UT1NGKEY0FTHETUT0R1ALPAGES0000";
const dir = makeTempDir();
const home = path.join(dir.path, "tutorial");
const pagers = "https://events.pagerduty.com/v2/enqueue";

let pager: Awaited<ReturnType<typeof startFakePager>>;
let terminals: ReturnType<typeof openTerminals>;
let put: (text: string) => string;

beforeAll(async () => {
  const { tarball } = await packCheckout(dir.path);
  mkdirSync(home);
  copyFileSync(tarball, path.join(dir.path, path.basename(tarball)));
  pager = await startFakePager();
  const ports = await takePorts();
  const host = new URL(pager.url).hostname;
  put = (text) =>
    ports
      .put(text)
      .replaceAll(pagers, pager.url)
      .replaceAll(/^(echo )events\.pagerduty\.com/gm, `$1${host}`);
  const env: Record<string, string> = { ...cleanEnvironment(), ...freePorts };
  env["PATH"] = `${await installNode(dir.path, oldestNode)}:${env["PATH"]}`;
  terminals = openTerminals({ cwd: home, env });
});

afterAll(async () => {
  await terminals?.close();
  await pager?.stop();
  dir.remove();
});

it("what is typed runs on the oldest Node", async () => {
  const { output } = await terminals.type("node --version", "");

  expect(output.trim()).toBe(`v${oldestNode}`);
});

it("every command of the page does what the page shows", {
  timeout: 1_800_000,
  retry: 0,
}, async () => {
  for (const step of readTutorial()) await follow(step);
});

async function follow(step: Step): Promise<void> {
  if (step.kind === "write") writeFileSync(path.join(home, step.file), put(step.text));
  else if (step.kind === "stop") await terminals.stop(step.terminal);
  else if (step.kind === "start") await start(step);
  else await type(step);
}

/** The log has what is shown on a terminal, without its full stop. */
async function start({ terminal, text, shown }: Extract<Step, { kind: "start" }>): Promise<void> {
  const lines = shown.map((line) => put(line).replace(/\.$/, ""));
  await terminals.start(terminal, put(text), (output) => findUnsaid(lines, output) === undefined);
}

/** A reader who has only looked looks again until it is there. */
async function type({ text, exitCode, shown }: Extract<Step, { kind: "type" }>): Promise<void> {
  const tryOnce = async () => {
    const end = await terminals.type(put(text), `${key}\n`);
    const missing = findUnsaid(shown.map(put), end.output);
    if (missing === undefined && end.exitCode === exitCode) return true;
    throw new Error(`${text}ended with ${end.exitCode}, without "${missing}": ${end.output}`);
  };
  const isLook = /^npx vedette (?:checks|sentinels) list\n$/.test(text);
  if (isLook) await waitFor(tryOnce, { withinMs: 20_000, what: `"${shown.at(-1)}"` });
  else await tryOnce();
}

const failures = () => pager.events.filter(({ event_action: action }) => action === "trigger");

it("the phone is paged for the test, for the stopped API and for the bad image", () => {
  expect(failures().map(({ payload }) => payload?.summary)).toEqual([
    expect.stringContaining("[TEST] Failed: Channel phone"),
    "Failed: shop: local: connection refused",
    "Failed: shop: local: answered 503, expected 200",
  ]);
});

it("the page of the bad image names the rollout", () => {
  const [, stopped, bad] = failures().map(({ payload }) => payload?.custom_details["rollout"]);

  expect(stopped).toBeUndefined();
  expect(bad).toMatch(/^During wave 1 of the rollout of \S+$/);
});

it("every page is resolved, and has the key that was typed", () => {
  const keysOf = (action: string) =>
    pager.events.filter((event) => event.event_action === action).map((event) => event.dedup_key);

  expect(keysOf("resolve")).toEqual(keysOf("trigger"));
  expect(new Set(pager.events.map((event) => event.routing_key))).toEqual(new Set([key]));
});

it("a program that was stopped leaves nothing that runs", () => {
  expect(existsSync(path.join(home, ".vedette/endpoints.json"))).toBe(false);
  expect(readFileSync(path.join(home, "secrets/PHONE_KEY"), "utf8")).toBe(`${key}\n`);
});
