import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { runPlugin } from "#fleet/drivers/kubernetes/identity.ts";
import type { ExecPlugin } from "#fleet/drivers/kubernetes/login.ts";
import { identifyProcess } from "#kernel/process.ts";
import { createSelfSigned } from "../../../../support/http/self-signed.ts";
import { tempDir } from "../../../../support/temp-dir.ts";
import { waitFor } from "../../../../support/wait-for.ts";

const apiVersion = "client.authentication.k8s.io/v1";

/** A program of its own folder, named `login`. */
function writePlugin(script: string, interpreter = "/bin/sh"): ExecPlugin {
  const command = path.join(tempDir(), "login");
  writeFileSync(command, `#!${interpreter}\n${script}\n`, { mode: 0o700 });
  return { apiVersion, command, args: [], env: {} };
}

const writeNodePlugin = (script: string) => writePlugin(script, process.execPath);

function printing(status: object, more: object = {}): string {
  const answer = { apiVersion, kind: "ExecCredential", status, ...more };
  return `cat <<'END'\n${JSON.stringify(answer)}\nEND`;
}

const PATH = process.env["PATH"];

async function messageOf(work: Promise<unknown>): Promise<string> {
  const result = await work.then(
    () => "it did not fail",
    (error: Error) => error.message,
  );
  return result;
}

describe("what a plugin prints", () => {
  it("is a token", async () => {
    const plugin = writePlugin(printing({ token: "abc" }));

    expect(await runPlugin(plugin)).toEqual({
      token: "abc",
      cert: undefined,
      key: undefined,
      expiresAtMs: undefined,
    });
  });

  it.each([
    ["2030-01-02T03:04:05Z", Date.UTC(2030, 0, 2, 3, 4, 5)],
    ["2030-01-02T03:04:05.678+02:00", Date.UTC(2030, 0, 2, 1, 4, 5, 678)],
    [null, undefined],
  ])("expires at %s", async (expirationTimestamp, expiresAtMs) => {
    const plugin = writePlugin(printing({ token: "abc", expirationTimestamp }));

    expect(await runPlugin(plugin)).toMatchObject({ expiresAtMs });
  });

  it("is a certificate with its key", async () => {
    const { cert, key } = await createSelfSigned(["op"], new Date(Date.now() + 86_400_000));
    const plugin = writePlugin(printing({ clientCertificateData: cert, clientKeyData: key }));

    expect(await runPlugin(plugin)).toEqual({
      token: undefined,
      cert,
      key,
      expiresAtMs: undefined,
    });
  });

  it.each([
    ["no JSON", "echo s3cret", "no ExecCredential"],
    ["nothing", "exit 0", "no ExecCredential"],
    ["another kind", printing({ token: "s3cret" }, { kind: "Secret" }), "no ExecCredential"],
    ["no status", printing({}, { status: null }), "no ExecCredential"],
    ["a token that is a number", printing({ token: 5 }), "no ExecCredential"],
    [
      "an end that is no time",
      printing({ token: "s3cret", expirationTimestamp: "s3cret" }),
      "no ExecCredential",
    ],
    [
      "another version",
      printing({ token: "s3cret" }, { apiVersion: "client.authentication.k8s.io/v1beta1" }),
      `an ExecCredential of another apiVersion than ${apiVersion}: update it`,
    ],
    ["an empty token", printing({ token: "" }), "neither a token nor a certificate"],
    [
      "half a pair",
      printing({ clientCertificateData: "-----BEGIN CERTIFICATE-----" }),
      "a certificate without its key, or a key alone",
    ],
    [
      "a key that is no PEM",
      printing({ clientKeyData: "s3cret", token: "s3cret" }),
      "a key that is no PEM",
    ],
  ])("is refused and not quoted when it is %s", async (_, script, words) => {
    const plugin = writePlugin(script);

    expect(await messageOf(runPlugin(plugin))).toBe(`${plugin.command} printed ${words}`);
  });
});

describe("a plugin that fails", () => {
  it("is quoted with its last line on stderr, and not with its output", async () => {
    const plugin = writePlugin("echo s3cret; echo first >&2; echo 'sign in first' >&2; exit 3");

    expect(await messageOf(runPlugin(plugin))).toBe(
      `${plugin.command} ended with 3: sign in first`,
    );
  });

  it("may say nothing, or be ended by a signal", async () => {
    const silent = writePlugin("exit 1");
    const ended = writePlugin("kill -TERM $$");

    expect(await messageOf(runPlugin(silent))).toBe(`${silent.command} ended with 1`);
    expect(await messageOf(runPlugin(ended))).toBe(`${ended.command} was ended by SIGTERM`);
  });

  const long = "Zm9vYmFyYmF6cXV4".repeat(3);

  it.each([
    ["bad token eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJvcCJ9.c2ln here", "bad token *** here"],
    ["Authorization: Bearer abcdef-123456", "Authorization: ***"],
    ['{"refresh_token": "abcdef-123456"}', '{"refresh_token": ***}'],
    ["proxy http://op:pass@proxy:3128 refused", "proxy http://***@proxy:3128 refused"],
    [`got k8s-aws-v1.${long}`, "got k8s-aws-v1.***"],
    ["key aB3/aB3/aB3/aB3/aB3/aB3/aB3/aB3/aB3/aB3/", "key ***"],
    ["profile s3cret-value is wrong", "profile *** is wrong"],
    ["session s3cret-session is wrong", "session *** is wrong"],
    [
      "An error occurred (ExpiredToken) for arn:aws:eks:eu-west-1:123456789012:cluster/edge",
      "An error occurred (ExpiredToken) for arn:aws:eks:eu-west-1:123456789012:cluster/edge",
    ],
    ["cannot open /run/secrets/token-file", "cannot open /run/secrets/token-file"],
  ])("that says '%s' is quoted with '%s'", async (said, words) => {
    const plugin = writeNodePlugin(`console.error(${JSON.stringify(said)}); process.exitCode = 1`);
    const env = {
      CLIENT_SECRET: "s3cret-value",
      AWS_WEB_IDENTITY_TOKEN_FILE: "/run/secrets/token-file",
    };
    const environment = { PATH, AWS_SESSION_TOKEN: "s3cret-session" };

    const message = await messageOf(runPlugin({ ...plugin, env }, { environment }));

    expect(message).toBe(`${plugin.command} ended with 1: ${words}`);
  });

  it("is quoted with no part of a line, and without control characters", async () => {
    const one = writeNodePlugin("process.stderr.write('x '.repeat(5000)); process.exitCode = 1");
    const two = writeNodePlugin(
      "process.stderr.write('y '.repeat(5000) + '\\n\\u001b[31mred'); process.exitCode = 1",
    );

    expect(await messageOf(runPlugin(one))).toBe(`${one.command} ended with 1`);
    expect(await messageOf(runPlugin(two))).toBe(`${two.command} ended with 1: red`);
  });

  it("is named when it is not there, in a folder of PATH or by its path", async () => {
    const words = "is not there: install it where Vedette runs, in a folder of PATH";
    const plugin = { apiVersion, args: [], env: {} };

    expect(await messageOf(runPlugin({ ...plugin, command: "no-such-login" }))).toBe(
      `no-such-login ${words}`,
    );
    expect(await messageOf(runPlugin({ ...plugin, command: "/nowhere/login" }))).toBe(
      `/nowhere/login ${words}`,
    );
  });

  it("is named when it cannot be started, and its arguments are not quoted", async () => {
    const folder = tempDir();
    const plugin = { apiVersion, command: folder, args: [], env: {} };
    const zero = { apiVersion, command: "login", args: ["s3cret\0"], env: {} };

    expect(await messageOf(runPlugin(plugin))).toBe(`${folder} cannot be started (EACCES)`);
    expect(await messageOf(runPlugin(zero))).toBe(
      "login cannot be started (ERR_INVALID_ARG_VALUE)",
    );
  });
});

describe("the limits of a plugin", () => {
  const isGone = (file: string) => () =>
    identifyProcess(Number(readFileSync(file, "utf8").trim())) === undefined;

  it("end it with what it has started, though it ignores signals", async () => {
    const pids = ["own", "started"].map((name) => path.join(tempDir(), name));
    const plugin = writePlugin(
      `trap '' TERM INT HUP; sleep 600 & echo $! > ${pids[1]}; echo $$ > ${pids[0]}
       echo waiting for a browser >&2; wait; wait; sleep 600`,
    );

    const message = await messageOf(runPlugin(plugin, { limitMs: 3_000 }));

    expect(message).toMatch(/login did not end within 3 s(: waiting for a browser)?$/);
    for (const file of pids) {
      expect(existsSync(file)).toBe(true);
      await waitFor(isGone(file), { withinMs: 2_000, what: "its end" });
    }
  });

  it("hold for what is left over of it, which does not keep its answer back", async () => {
    const pid = path.join(tempDir(), "pid");
    const plugin = writePlugin(`sleep 600 & echo $! > ${pid}\n${printing({ token: "abc" })}`);

    expect(await runPlugin(plugin)).toMatchObject({ token: "abc" });
    await waitFor(isGone(pid), { withinMs: 2_000, what: "its end" });
  });

  it("end it when our own process ends before it", async () => {
    const pid = path.join(tempDir(), "pid");
    const plugin = writePlugin(`echo $$ > ${pid}.new; mv ${pid}.new ${pid}; exec sleep 600`);
    const script = `
      import { existsSync } from "node:fs";
      const { runPlugin } = await import(${JSON.stringify(import.meta.resolve("#fleet/drivers/kubernetes/identity.ts"))});
      runPlugin(${JSON.stringify(plugin)});
      setInterval(() => existsSync(${JSON.stringify(pid)}) && process.exit(), 10);
    `;
    const ours = spawn(process.execPath, ["--input-type=module", "-e", script]);

    const [code] = await once(ours, "exit");

    expect(code).toBe(0);
    await waitFor(isGone(pid), { withinMs: 2_000, what: "its end" });
  });

  it.each(["stdout", "stderr"])("hold for what it prints on %s", async (stream) => {
    const pid = path.join(tempDir(), "pid");
    const plugin = writeNodePlugin(`
      require("node:fs").writeFileSync(${JSON.stringify(pid)}, String(process.pid));
      const write = () => process.${stream}.write("s3cret ".repeat(10_000), write);
      write();
    `);

    expect(await messageOf(runPlugin(plugin))).toBe(`${plugin.command} printed more than 1 MiB`);
    await waitFor(isGone(pid), { withinMs: 2_000, what: "its end" });
  });

  it("allow an answer of nearly a MiB", async () => {
    const token = "x".repeat(1_000_000);
    const plugin = writeNodePlugin(`
      const status = { token: "x".repeat(1_000_000) };
      console.log(JSON.stringify({ apiVersion: "${apiVersion}", kind: "ExecCredential", status }));
    `);

    expect((await runPlugin(plugin)).token).toBe(token);
  });

  it("leave nothing of ours behind", async () => {
    const before = process.listenerCount("exit");

    await runPlugin(writePlugin(printing({ token: "abc" })));
    await messageOf(runPlugin({ apiVersion, command: "no-such-login", args: [], env: {} }));

    expect(process.listenerCount("exit")).toBe(before);
  });
});

describe("what a plugin is given", () => {
  /** Its token is what it was given, in base64. */
  const reporting = () =>
    writeNodePlugin(`
      let input = "";
      process.stdin.on("data", (chunk) => { input += chunk; }).on("end", () => {
        const given = { env: process.env, args: process.argv.slice(2), input };
        const token = Buffer.from(JSON.stringify(given)).toString("base64");
        console.log(JSON.stringify({ apiVersion: "${apiVersion}", kind: "ExecCredential", status: { token } }));
      });
    `);

  async function report(part: Partial<ExecPlugin>, environment: NodeJS.ProcessEnv) {
    const { token = "" } = await runPlugin({ ...reporting(), ...part }, { environment });
    return JSON.parse(Buffer.from(token, "base64").toString()) as {
      env: Record<string, string>;
      args: string[];
      input: string;
    };
  }

  const allowed = {
    HOME: "/home/op",
    USER: "op",
    TMPDIR: "/tmp",
    LANG: "C.UTF-8",
    LC_ALL: "C.UTF-8",
    KUBECONFIG: "/home/op/config",
    HTTPS_PROXY: "http://proxy:3128",
    no_proxy: "10.0.0.0/8",
    XDG_CACHE_HOME: "/home/op/.cache",
    AWS_PROFILE: "edge",
    GOOGLE_APPLICATION_CREDENTIALS: "/home/op/google.json",
    CLOUDSDK_CONFIG: "/home/op/.gcloud",
    AZURE_CLIENT_ID: "id",
    AAD_LOGIN_METHOD: "msi",
  };

  const refused = {
    VEDETTE_ROOT_KEY: "s3cret",
    VEDETTE_INCIDENT__API_KEY: "s3cret",
    INGRESS_TOKEN: "s3cret",
    DATABASE_URL: "postgres://op:s3cret@db",
    DATABASE_DIRECT_URL: "postgres://op:s3cret@db",
    CLICKHOUSE_URL: "https://op:s3cret@ch",
    REDIS_URL: "redis://op:s3cret@redis",
    GITHUB_TOKEN: "s3cret",
    NODE_OPTIONS: "--title=s3cret",
    LD_PRELOAD: "",
    MY_AWS_KEY: "s3cret",
    PGPASSWORD: "s3cret",
  };

  it("is of our environment what clouds need, and nothing else", async () => {
    const { env } = await report({}, { PATH, ...allowed, ...refused });

    const { KUBERNETES_EXEC_INFO, ...rest } = env;
    expect(rest).toEqual({ PATH, ...allowed });
    expect(JSON.stringify(env)).not.toContain("s3cret");
  });

  it("is our environment as it is now, if no other is named", async () => {
    const { token = "" } = await runPlugin(reporting());

    const { env } = JSON.parse(Buffer.from(token, "base64").toString());
    expect(env).toMatchObject({ PATH });
    // Vitest sets it for us.
    expect(process.env).toHaveProperty("VITEST");
    expect(env).not.toHaveProperty("VITEST");
  });

  it("is its own variables first, but not instead of what it is told", async () => {
    const own = { AWS_PROFILE: "own", GITHUB_TOKEN: "its own", KUBERNETES_EXEC_INFO: "{}" };

    const { env } = await report({ env: own }, { PATH, ...allowed, ...refused });

    expect(env).toMatchObject({ AWS_PROFILE: "own", GITHUB_TOKEN: "its own" });
    expect(JSON.parse(env["KUBERNETES_EXEC_INFO"] ?? "")).toEqual({
      apiVersion,
      kind: "ExecCredential",
      spec: { interactive: false },
    });
  });

  it("is its arguments as they stand, to no shell, and no input", async () => {
    const { args, input } = await report({ args: ["$(id); `id` 'x' *", ""] }, { PATH });

    expect(args).toEqual(["$(id); `id` 'x' *", ""]);
    expect(input).toBe("");
  });

  it("is the cluster, with the text of the CA's file", async () => {
    const file = path.join(tempDir(), "ca.crt");
    const { cert } = await createSelfSigned(["ca"], new Date(Date.now() + 86_400_000));
    writeFileSync(file, cert);
    const cluster = {
      server: "https://10.0.0.1",
      ca: { file },
      servername: "api.internal",
      isInsecure: false,
      proxyUrl: "http://proxy:3128",
      config: { region: "eu" },
    };

    const { env } = await report({ cluster }, { PATH });

    expect(JSON.parse(env["KUBERNETES_EXEC_INFO"] ?? "").spec).toEqual({
      interactive: false,
      cluster: {
        server: "https://10.0.0.1",
        "tls-server-name": "api.internal",
        "certificate-authority-data": Buffer.from(cert).toString("base64"),
        "proxy-url": "http://proxy:3128",
        config: { region: "eu" },
      },
    });
  });

  it("is found in the PATH that it has itself", async () => {
    const folder = path.join(tempDir(), "bin");
    mkdirSync(folder);
    const script = `#!/bin/sh\n${printing({ token: "found" }).replace("cat", "/bin/cat")}\n`;
    writeFileSync(path.join(folder, "cloud-login"), script, { mode: 0o700 });
    const plugin = { apiVersion, command: "cloud-login", args: [], env: { PATH: folder } };

    expect(await runPlugin(plugin)).toMatchObject({ token: "found" });
  });
});
