/** examples/http-fleet, as its README says: a copy of it, the whole program, and the commands of the second terminal. */
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runVedette } from "../../support/program/command.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const example = "examples/http-fleet";
const token = "fleet-token";
const dir = makeTempDir();
const image = (tag: string) => `registry.example.com/gateway:${tag}`;

let fleet: ChildProcess;
let url: string;
let said = "";
let program: Program;

beforeAll(async () => {
  cpSync(example, dir.path, { recursive: true });
  await startFleet("0");
  const settings = path.join(dir.path, "vedette.toml");
  writeFileSync(
    settings,
    readFileSync(settings, "utf8").replace("http://127.0.0.1:4100", () => url),
  );
  program = await startProgram({ VEDETTE_CONFIG: settings, VEDETTE_FLEET__HTTP__TOKEN: token });
});

afterAll(async () => {
  await program?.dispose();
  await stopFleet();
  dir.remove();
});

async function startFleet(port: string) {
  said = "";
  const env = { PATH: process.env["PATH"], FLEET_TOKEN: token, PORT: port };
  fleet = spawn(process.execPath, ["fleet.mjs"], { cwd: dir.path, env });
  for (const stream of [fleet.stdout, fleet.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
  }
  const listening = () => /listens at (\S+)/.exec(said)?.[1];
  url = await waitFor(listening, { withinMs: 20_000, what: "the fleet to listen" });
}

async function stopFleet() {
  fleet?.kill();
  await waitFor(() => fleet === undefined || hasEnded(fleet), {
    withinMs: 10_000,
    what: "the fleet to end",
  });
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) =>
  exitCode !== null || signalCode !== null;

/** The commands of the README's last block, each with the exit code that its comment names. */
function commandsOfReadme() {
  const text = readFileSync(path.join(example, "README.md"), "utf8");
  const block = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].at(-1)?.[1] ?? "";
  return [...block.matchAll(/^npx vedette ([^#\n]*)(?:# exit code (\d))?/gm)].map(
    ([, words = "", code = "0"]) => ({ args: words.trim().split(/ +/), code: Number(code) }),
  );
}

const call = (at: string, headers: Record<string, string>) => fetch(`${url}${at}`, { headers });

async function runningImages(): Promise<string[]> {
  const listed = await call("/sentinels", { authorization: `Bearer ${token}` });
  const { sentinels } = (await listed.json()) as { sentinels: { running_image: string }[] };
  return sentinels.map(({ running_image }) => running_image);
}

it("the README's commands replace every image by replace.sh, pause at a bad one and go back", async () => {
  const ends = [];
  for (const { args } of commandsOfReadme()) {
    ends.push(await runVedette([...args, "--data-dir", program.dataDir]));
  }

  expect(ends.map(({ code }) => code)).toEqual(commandsOfReadme().map(({ code }) => code));
  const [listed, replaced, paused] = ends.map(({ stdout }) => stdout);
  expect(listed).toMatch(new RegExp(`gw-4 +us +${image("v1")} +ready`));
  expect(replaced).toContain("4 of 4 on the image");
  expect(paused).toContain(`crash_loop: ${image("v3-bad")} does not start`);
  expect(await runningImages()).toEqual(Array(4).fill(image("v2")));
  const runs = [...said.matchAll(/^(gw-\d) runs \S+:v2$/gm)].map(([, id]) => id);
  expect([...new Set(runs)].toSorted()).toEqual(["gw-1", "gw-2", "gw-3", "gw-4"]);
});

it("the fleet knows after a restart which image each sentinel runs", async () => {
  await stopFleet();
  const before = JSON.parse(readFileSync(path.join(dir.path, "state.json"), "utf8")) as {
    running_image: string;
  }[];
  await startFleet(new URL(url).port);

  expect(await runningImages()).toEqual(before.map(({ running_image }) => running_image));
});

it("an order that a restart of the fleet interrupted runs again", async () => {
  await stopFleet();
  const file = path.join(dir.path, "state.json");
  const [first, ...others] = JSON.parse(readFileSync(file, "utf8")) as object[];
  const interrupted = { ...first, image: image("v4"), deploy_id: "d", status: "progressing" };
  writeFileSync(file, JSON.stringify([interrupted, ...others]));
  await startFleet(new URL(url).port);

  await expect.poll(async () => (await runningImages())[0]).toBe(image("v4"));
});

it("the fleet refuses a call without its token", async () => {
  expect((await call("/sentinels", { authorization: "Bearer other" })).status).toBe(401);
});
