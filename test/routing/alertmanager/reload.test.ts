import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { identifyProcess } from "#kernel/process.ts";
import { runReload } from "#routing/alertmanager/running.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const options = { timeoutMs: 20_000, secrets: ["s3cret-token"] };
const node = (script: string, ...args: string[]) => [process.execPath, "-e", script, ...args];

it("the reload passes arguments verbatim and without a shell", async () => {
  const file = path.join(tempDir(), "out");
  const script = "require('fs').writeFileSync(process.argv[1], process.argv[2])";

  await runReload(node(script, file, "$(id); `id` 'x' *"), options);

  expect(readFileSync(file, "utf8")).toBe("$(id); `id` 'x' *");
});

it("the reload does not pass on the program's settings", async () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv("VEDETTE_INCIDENT__API_KEY", "s3cret-key");
  const file = path.join(tempDir(), "out");
  const script = "require('fs').writeFileSync(process.argv[1], JSON.stringify(process.env))";

  await runReload(node(script, file), options);

  const environment = readFileSync(file, "utf8");
  expect(environment).toContain("PATH");
  expect(environment).not.toContain("s3cret-key");
});

it("quotes the last line of a command that failed, without the token in it", async () => {
  const script = "console.log('first'); console.error('bad token s3cret-token'); process.exit(3)";

  await expect(runReload(node(script), options)).rejects.toThrow(
    `${process.execPath} ended with 3: bad token [secret]`,
  );
});

it("the reload names a program that is not installed", async () => {
  await expect(runReload(["no-such-program"], options)).rejects.toThrow(
    "no-such-program cannot be started (ENOENT); is it installed here?",
  );
});

it("the reload kills a command that does not end, with what it started", async () => {
  const file = path.join(tempDir(), "pid");
  const script = `
    const child = require('child_process').spawn('sleep', ['60']);
    require('fs').writeFileSync(process.argv[1], String(child.pid));
    setInterval(() => {}, 1000);
  `;

  const run = runReload(node(script, file), { ...options, timeoutMs: 1_000 });

  await expect(run).rejects.toThrow("did not end within 1 s");
  expect(existsSync(file)).toBe(true);
  const isGone = () => identifyProcess(Number(readFileSync(file, "utf8"))) === undefined;
  await waitFor(isGone, { withinMs: 5_000, what: "the child to end" });
});

it("the reload does not wait for a daemon that the command left behind", async () => {
  const script = `
    const child = require('child_process').spawn('sleep', ['5'], { stdio: 'inherit', detached: true });
    child.unref();
  `;
  const startedAtMs = performance.now();

  await runReload(node(script), options);

  expect(performance.now() - startedAtMs).toBeLessThan(4_000);
});

it("the reload leaves a process running that the command started and that still prints", async () => {
  const file = path.join(tempDir(), "pid");
  const script = `
    const child = require('child_process').spawn('sleep', ['30'], { stdio: 'inherit' });
    require('fs').writeFileSync(process.argv[1], String(child.pid));
    child.unref();
  `;

  await runReload(node(script, file), options);

  const pid = Number(readFileSync(file, "utf8"));
  onTestFinished(() => void process.kill(pid));
  expect(identifyProcess(pid)).toBeDefined();
});

it("the reload passes on where the command finds docker and the user's services", async () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  const places = { DOCKER_HOST: "tcp://d:1", DBUS_SESSION_BUS_ADDRESS: "unix:path=/b" };
  for (const [name, value] of Object.entries(places)) vi.stubEnv(name, value);
  const file = path.join(tempDir(), "out");
  const script = "require('fs').writeFileSync(process.argv[1], JSON.stringify(process.env))";

  await runReload(node(script, file), options);

  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject(places);
});
