/** A folder that somebody else has prepared names a port of this machine, and a process of the user whose token it is after. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { afterEach, expect, it, onTestFinished } from "vitest";
import { findTarget } from "#cli/target.ts";
import { identifyProcess } from "#kernel/process.ts";
import { runVedette } from "../../support/program/command.ts";
import { tempDir } from "../../support/temp-dir.ts";

const before = process.cwd();
const started: ReturnType<typeof spawn>[] = [];

afterEach(() => {
  process.chdir(before);
  for (const child of started.splice(0)) child.kill();
});

const asAnother = ["setpriv", "--reuid=12345", "--clear-groups"];
const isRootOnLinux = process.getuid?.() === 0 && process.platform === "linux";

const listen =
  'require("net").createServer().listen(0, "127.0.0.1", function () { console.log(this.address().port) })';

/** Returns the port on which a program listens, of another user when `as` says so. */
async function startListener(as: string[] = []): Promise<number> {
  const [command = "", ...args] = [...as, process.execPath, "-e", listen];
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  started.push(child);
  const [port] = await once(child.stdout, "data");
  return Number(port);
}

function enterFolder(port: number, pid = process.pid): void {
  const folder = tempDir();
  mkdirSync(path.join(folder, ".vedette"));
  const endpoints = { control: `http://127.0.0.1:${port}`, process: identifyProcess(pid) };
  const file = path.join(folder, ".vedette", "endpoints.json");
  writeFileSync(file, JSON.stringify(endpoints), { mode: 0o600 });
  process.chdir(folder);
}

it.skipIf(!isRootOnLinux)(
  "a named token is not sent to a port on which another user's program listens",
  async () => {
    enterFolder(await startListener(asAnother));

    expect(() => findTarget({}, { INGRESS_TOKEN: "t" })).toThrow(/name it by --url/);
  },
);

it.skipIf(!isRootOnLinux)(
  "a named token is not sent where a file names another user's process",
  async () => {
    await startListener(asAnother);
    const other = started.at(-1)?.pid;
    enterFolder(await startListener(), other);

    expect(() => findTarget({}, { INGRESS_TOKEN: "t" })).toThrow(/name it by --url/);
  },
);

it("a named token is sent to a port on which the user's own program listens", async () => {
  const port = await startListener();
  enterFolder(port);

  expect(findTarget({}, { INGRESS_TOKEN: "t" }).url).toBe(`http://127.0.0.1:${port}`);
});

it.each([["--device"], ["--no-browser"]])(
  "a sign-in by %s is begun at no address that only the folder names",
  async (way) => {
    const asked: (string | undefined)[] = [];
    const stranger = createServer(({ url }, response) => {
      asked.push(url);
      response.writeHead(500).end();
    });
    await once(stranger.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void stranger.close());
    const folder = tempDir();
    mkdirSync(path.join(folder, ".vedette"));
    const control = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
    writeFileSync(path.join(folder, ".vedette", "endpoints.json"), JSON.stringify({ control }));

    const { code, stderr } = await runVedette(["login", way], { HOME: tempDir() }, folder);

    expect([code, asked]).toEqual([1, []]);
    expect(stderr).toContain("name it by --url");
  },
);
