/** `vedette doctor`, beside a program that runs and without one. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Finding } from "#app/doctor.ts";
import { openDataDir } from "#embedded/data-dir-lock.ts";
import { freePort } from "../../support/free-port.ts";
import { runVedette } from "../../support/program/command.ts";
import { freePorts, startProgram } from "../../support/program/program.ts";
import { createTestDatabase } from "../../support/run/shared-postgres.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

async function examine(environment: Record<string, string>, directory = tempDir()) {
  const own = { ...freePorts, VEDETTE_DATA_DIR: path.join(directory, "data") };
  const end = await runVedette(["doctor", "--json"], { ...own, ...environment }, directory);
  const { findings } = JSON.parse(end.stdout) as { findings: Finding[] };
  return { ...end, findings, of: (about: string) => findings.find((one) => one.about === about) };
}

/** Answers everything with this status. */
async function serve(status: number): Promise<string> {
  const server = createServer((_, answer) => void answer.writeHead(status).end("{}"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it("an installation that does not run has no fault, and says what cannot be seen", async () => {
  const { code, of } = await examine({});

  expect(of("Node")).toMatchObject({ grade: "ok", text: process.versions.node });
  expect(of("libatomic")).toMatchObject({ grade: "ok" });
  expect(of("data directory")?.text).toMatch(/data: [\d.]+ GB are free/);
  expect(of("program")).toMatchObject({ grade: "unknown", next: "vedette start" });
  expect(of("Restate")).toMatchObject({ grade: "unknown" });
  expect(of("Postgres")).toMatchObject({ grade: "unknown" });
  expect(of("list of fleet singleton")).toMatchObject({ grade: "unknown" });
  expect(code).toBe(0);
});

it("a check that is off, and channels that lead nowhere, are warnings with what to set", async () => {
  const { findings } = await examine({});

  const texts = findings.filter(({ grade }) => grade === "warning").map(({ text }) => text);
  expect(texts).toContain("verify-key: off: set monitor.key");
  expect(texts).toContainEqual(
    expect.stringMatching(/verify-key, .*alerts nobody: channel production needs incident\.url/),
  );
});

it("a secret that a row names and nobody has set is a warning, and one that is set is not shown", async () => {
  const directory = tempDir();
  const channels = [
    { id: "ops", kind: "webhook", url: "https://example.com/{{SET}}" },
    { id: "chat", kind: "webhook", url: "https://example.com/{{UNSET}}" },
  ];
  const checks = [{ id: "shop", url: "https://example.com", channels: ["ops", "chat"] }];
  writeFileSync(path.join(directory, "vedette.config.json"), JSON.stringify({ channels, checks }));

  const { stdout } = await examine({ VEDETTE_SECRET_SET: "horse-battery-4711" }, directory);

  expect(stdout).toContain("shop: channel chat needs VEDETTE_SECRET_UNSET");
  expect(stdout).not.toContain("horse-battery-4711");
});

it("a port that another program has is a fault with exit code 1", async () => {
  const port = new URL(await serve(200)).port;

  const { code, of } = await examine({ VEDETTE_CONTROL__PORT: port });

  expect(of("ports")).toMatchObject({ grade: "fault", next: "ss -ltnp" });
  expect(of("ports")?.text).toContain(`port ${port} is taken by another program`);
  expect(of("ports")?.text).toContain("control.port");
  expect(code).toBe(1);
});

it("settings that cannot be read are a fault, and nothing else is claimed", async () => {
  const { code, findings } = await examine({ VEDETTE_API__PORT: "seventy" });

  expect(findings.at(-1)).toMatchObject({ about: "settings", grade: "fault" });
  expect(code).toBe(1);
});

it("a Vedette that is starting is no stranger at the ports, and nobody is told to end it", async () => {
  const directory = tempDir();
  const { release } = await openDataDir(path.join(directory, "data"));
  onTestFinished(release);
  const port = new URL(await serve(200)).port;

  const { of, stdout } = await examine({ VEDETTE_CONTROL__PORT: port }, directory);

  expect(of("program")?.text).toContain(`process ${process.pid} starts one there`);
  expect(of("ports")).toMatchObject({ grade: "ok" });
  expect(stdout).not.toContain("end it");
});

it("each fault of the settings is a finding of its own, with the name that was meant", async () => {
  const directory = tempDir();
  writeFileSync(
    path.join(directory, "vedette.toml"),
    "[control]\nprt = 1\n[rollout]\nmax_parallel = 0\n",
  );

  const { findings } = await examine({}, directory);

  const texts = findings.filter(({ about }) => about === "settings").map(({ text }) => text);
  expect(texts).toContainEqual(
    expect.stringContaining('control: unknown name "prt": did you mean port?'),
  );
  expect(texts).toContainEqual(
    expect.stringContaining("rollout.max_parallel: expected a whole number"),
  );
});

it("a Postgres that refuses the password is a fault that names database.url, without the password", async () => {
  const database = await createTestDatabase();
  onTestFinished(database.stop);
  const url = Object.assign(new URL(database.url), { password: "horse-battery" });

  const { code, of, stdout } = await examine({ DATABASE_URL: url.href });

  expect(of("Postgres")?.text).toMatch(/^database\.url: Postgres refused the password of user/);
  expect(stdout).not.toContain("horse-battery");
  expect(code).toBe(1);
});

it("a Restate that does not answer is a fault", async () => {
  const url = `http://127.0.0.1:${await freePort()}`;

  const { of } = await examine({
    VEDETTE_RESTATE__INGRESS_URL: url,
    VEDETTE_RESTATE__ADMIN_URL: url,
    VEDETTE_RESTATE__IDENTITY_KEYS: "publickeyv1_AfUGbGxbGLmnhUjkzzMEKgGyPCFPLCPXfgLQaZmwnWQV",
  });

  expect(of("Restate")).toMatchObject({ grade: "fault" });
  expect(of("Restate")?.text).toContain(`restate.ingress_url: ${url} does not answer`);
});

it("beside a running program its parts answer, and the fleet's own error is a fault", async () => {
  const environment = {
    VEDETTE_FLEET__DRIVER: "http",
    VEDETTE_FLEET__HTTP__URL: await serve(500),
    VEDETTE_FLEET__HTTP__TOKEN: "fleet-token-4711",
  };
  const program = await startProgram(environment);
  onTestFinished(program.dispose);
  const look = () => examine({ ...environment, VEDETTE_DATA_DIR: program.dataDir });

  const { code, of, stdout } = await waitFor(
    async () => {
      const end = await look();
      return end.of("list of fleet singleton")?.text.includes("500") && end;
    },
    { withinMs: 60_000, what: "the fleet's error" },
  );

  expect(of("Restate")).toMatchObject({ grade: "ok", text: "the embedded one answers" });
  expect(of("Postgres")).toMatchObject({ grade: "ok" });
  expect(of("ports")).toMatchObject({ grade: "ok" });
  expect(stdout).toContain("vedette heartbeats register certificate-workflow");
  expect(stdout).not.toContain("fleet-token-4711");
  expect(code).toBe(1);
});

it("people read each finding with its next command", async () => {
  const directory = tempDir();
  const environment = { ...freePorts, VEDETTE_DATA_DIR: path.join(directory, "data") };

  const { stdout } = await runVedette(["doctor"], environment, directory);

  expect(stdout).toMatch(/unknown +program: no Vedette runs on .*\n +npx vedette start/);
});

it("a registry whose name is a closed address is not asked", async () => {
  let asked = 0;
  const image = "169.254.169.254/team/gateway:v1";
  const sentinels = [{ id: "gw-1", region: "eu", image, running_image: image, healthy: true }];
  const server = createServer((_, answer) => {
    asked += 1;
    answer.writeHead(200, { "content-type": "application/json" });
    answer.end(JSON.stringify({ sentinels }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const environment = {
    VEDETTE_FLEET__DRIVER: "http",
    VEDETTE_FLEET__HTTP__URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    VEDETTE_FLEET__HTTP__TOKEN: "fleet-token-4711",
  };
  const program = await startProgram(environment);
  onTestFinished(program.dispose);

  const { of } = await waitFor(
    async () => {
      const end = await examine({ ...environment, VEDETTE_DATA_DIR: program.dataDir });
      return end.of("list of fleet singleton")?.text.startsWith("1 sentinels") && end;
    },
    { withinMs: 60_000, what: "the fleet's list" },
  );

  expect(asked).toBeGreaterThan(0);
  expect(of("registry")).toMatchObject({ grade: "fault" });
  expect(of("registry")?.text).toMatch(/169\.254\.169\.254 does not answer: .*(closed|metadata)/);
});
