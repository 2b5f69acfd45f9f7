import { renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { createIdentities, type Identity } from "#fleet/drivers/kubernetes/identity.ts";
import type { ClusterAccess } from "#fleet/drivers/kubernetes/kubeconfig.ts";
import { createSelfSigned } from "../../../support/http/self-signed.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const plugin = {
  apiVersion: "client.authentication.k8s.io/v1",
  command: "login",
  args: [],
  env: {},
};

function buildAccess(part: Partial<ClusterAccess>): ClusterAccess {
  return {
    server: "https://10.0.0.1",
    namespace: undefined,
    ca: undefined,
    servername: undefined,
    isInsecure: false,
    proxyUrl: undefined,
    cert: undefined,
    key: undefined,
    login: { kind: "none" },
    ...part,
  };
}

/** Both clocks go on together. */
function createClock(startMs = 1_700_000_000_000) {
  let passedMs = 0;
  return {
    nowMs: () => startMs + passedMs,
    clockMs: () => passedMs,
    pass: (ms: number) => {
      passedMs += ms;
    },
  };
}

type Answer = { token?: string; cert?: string; key?: string; livesMs?: number } | Error;

/** Identities of a plugin that gives one answer after the other; the last one again and again. */
function createPluginIdentities(...answers: Answer[]) {
  const clock = createClock();
  let runs = 0;
  const run = async () => {
    const answer = answers[Math.min(runs, answers.length - 1)];
    runs += 1;
    // A real one is never there at once.
    await Promise.resolve();
    if (answer instanceof Error) throw answer;
    const { token, cert, key, livesMs } = answer ?? {};
    const expiresAtMs = livesMs === undefined ? undefined : clock.nowMs() + livesMs;
    return { token, cert, key, expiresAtMs };
  };
  const access = buildAccess({ login: { kind: "exec", plugin } });
  return { ...createIdentities(access, { run, ...clock }), ...clock, runs: () => runs };
}

function createFileIdentities(text: string) {
  const clock = createClock();
  const file = path.join(tempDir(), "token");
  writeFileSync(file, text);
  const access = buildAccess({ login: { kind: "token-file", file } });
  return { ...createIdentities(access, clock), ...clock, file };
}

const tokenOf = async (identity: Promise<Identity>) => (await identity).authorization;

describe("an identity of the kubeconfig itself", () => {
  it.each<{ login: ClusterAccess["login"]; expected: string | undefined }>([
    { login: { kind: "none" }, expected: undefined },
    { login: { kind: "token", token: "abc\n" }, expected: "Bearer abc" },
    {
      login: { kind: "password", username: "op", password: "pä:ss" },
      expected: `Basic ${Buffer.from("op:pä:ss").toString("base64")}`,
    },
  ])("of the kind $login.kind has the header $expected", async ({ login, expected }) => {
    const identities = createIdentities(buildAccess({ login }));

    expect(await identities.current()).toEqual({
      authorization: expected,
      cert: undefined,
      key: undefined,
    });
  });

  it("refuses a token that no header can have, and does not quote it", async () => {
    const login = { kind: "token", token: "s3cret\ns3cret" } as const;

    await expect(createIdentities(buildAccess({ login })).current()).rejects.toThrow(
      /^the token of the kubeconfig has characters that no token has$/,
    );
  });
});

describe("an identity of a token's file", () => {
  it("is read again after a minute, and not before", async () => {
    const { current, file, pass } = createFileIdentities("one\n");
    const first = await tokenOf(current());
    writeFileSync(file, "two\n");

    pass(59_999);
    const soon = await tokenOf(current());
    pass(1);
    const later = await tokenOf(current());

    expect([first, soon, later]).toEqual(["Bearer one", "Bearer one", "Bearer two"]);
  });

  it("is read again when it is refused", async () => {
    const { current, refuse, file } = createFileIdentities("one");
    await current();
    writeFileSync(file, "two");

    refuse();

    expect(await tokenOf(current())).toBe("Bearer two");
  });

  it("stays as it is known while the file cannot be read, and is tried again after a second", async () => {
    const { current, file, pass } = createFileIdentities("one");
    await current();
    renameSync(file, `${file}.away`);
    pass(60_000);
    const without = await tokenOf(current());
    writeFileSync(file, "two");

    pass(999);
    const soon = await tokenOf(current());
    pass(1);
    const later = await tokenOf(current());

    expect([without, soon, later]).toEqual(["Bearer one", "Bearer one", "Bearer two"]);
  });

  it("stays as it is known while the file is empty", async () => {
    const { current, file, pass } = createFileIdentities("one");
    await current();
    writeFileSync(file, "");

    pass(60_000);

    expect(await tokenOf(current())).toBe("Bearer one");
  });

  it("is not used any longer once it is refused and the file cannot be read", async () => {
    const { current, refuse, file } = createFileIdentities("one");
    await current();
    rmSync(file);

    refuse();

    await expect(current()).rejects.toThrow(`${file} does not exist`);
  });

  it("is not used any longer if it is refused while the file cannot be read", async () => {
    const { current, refuse, file, pass } = createFileIdentities("one");
    await current();
    rmSync(file);
    pass(60_000);
    await current();

    refuse();

    await expect(current()).rejects.toThrow(`${file} does not exist`);
  });

  it("names a file that is empty", async () => {
    const { current, file } = createFileIdentities(" \n");

    await expect(current()).rejects.toThrow(`${file} is empty`);
  });

  it("names a file that is no regular one", async () => {
    const file = tempDir();
    const access = buildAccess({ login: { kind: "token-file", file } });

    await expect(createIdentities(access).current()).rejects.toThrow(`${file} is no regular file`);
  });
});

describe("an identity of a plugin", () => {
  it("is asked for once by all who wait for it", async () => {
    const { current, runs } = createPluginIdentities({ token: "one" });

    const got = await Promise.all(Array.from({ length: 16 }, () => tokenOf(current())));

    expect(new Set(got)).toEqual(new Set(["Bearer one"]));
    expect(runs()).toBe(1);
  });

  it.each([
    { livesMs: 3_600_000, usedForMs: 3_540_000 },
    { livesMs: 120_000, usedForMs: 60_000 },
    { livesMs: 60_000, usedForMs: 30_000 },
    { livesMs: 100, usedForMs: 1_000 },
    { livesMs: -5_000, usedForMs: 1_000 },
  ])("that lives $livesMs ms is used for $usedForMs ms", async ({ livesMs, usedForMs }) => {
    const { current, pass, runs } = createPluginIdentities({ token: "one", livesMs });
    await current();

    pass(usedForMs - 1);
    await current();
    const before = runs();
    pass(1);
    await current();

    expect([before, runs()]).toEqual([1, 2]);
  });

  it("without an end is used until it is refused", async () => {
    const { current, refuse, pass } = createPluginIdentities({ token: "one" }, { token: "two" });
    await current();
    pass(365 * 86_400_000);
    const late = await tokenOf(current());

    refuse();

    expect([late, await tokenOf(current())]).toEqual(["Bearer one", "Bearer two"]);
  });

  it("shares a failure for a second, and is asked for again then", async () => {
    const plugins = createPluginIdentities(new Error("login ended with 1"), { token: "two" });
    const { current, pass, runs } = plugins;
    const together = await Promise.allSettled(Array.from({ length: 16 }, () => current()));

    pass(999);
    await expect(current()).rejects.toThrow("login ended with 1");
    const before = runs();
    pass(1);
    const later = await tokenOf(current());

    expect(together.every(({ status }) => status === "rejected")).toBe(true);
    expect([before, later]).toEqual([1, "Bearer two"]);
  });

  it("that fails leaves the known one until that expires", async () => {
    const { current, pass, runs } = createPluginIdentities(
      { token: "one", livesMs: 600_000 },
      new Error("login ended with 1"),
    );
    await current();
    pass(540_000);
    const known = await tokenOf(current());

    pass(60_000);

    await expect(current()).rejects.toThrow("login ended with 1");
    expect([known, runs()]).toEqual(["Bearer one", 3]);
  });

  it("is run once for the refusals of many calls, even of those that are late", async () => {
    const { current, refuse, pass, runs } = createPluginIdentities({ token: "one" });
    await current();
    pass(10_000);
    for (let call = 0; call < 16; call += 1) {
      refuse();
      current().catch(() => {});
    }
    await current();

    pass(4_999);
    refuse();
    await current();
    const before = runs();
    pass(1);
    refuse();
    await current();

    expect([before, runs()]).toEqual([2, 3]);
  });

  it("does not give a refused one, if the next cannot be had", async () => {
    const { current, refuse, pass } = createPluginIdentities(
      { token: "one", livesMs: 600_000 },
      new Error("login ended with 1"),
    );
    await current();
    pass(540_000);
    await current();

    refuse();

    await expect(current()).rejects.toThrow("login ended with 1");
  });

  it("is replaced in time when the time of day is set back", async () => {
    let nowMs = 1_700_000_000_000;
    let clockMs = 0;
    let runs = 0;
    const run = async () => {
      runs += 1;
      return { token: `t${runs}`, cert: undefined, key: undefined, expiresAtMs: nowMs + 600_000 };
    };
    const access = buildAccess({ login: { kind: "exec", plugin } });
    const { current } = createIdentities(access, {
      run,
      nowMs: () => nowMs,
      clockMs: () => clockMs,
    });
    await current();

    nowMs -= 86_400_000;
    clockMs += 540_000;

    expect(await tokenOf(current())).toBe("Bearer t2");
  });

  it("may be a certificate", async () => {
    const { cert, key } = await createSelfSigned(["op"], new Date(Date.now() + 86_400_000));
    const { current } = createPluginIdentities({ cert, key });

    expect(await current()).toEqual({
      authorization: undefined,
      cert: Buffer.from(cert),
      key: Buffer.from(key),
    });
  });
});

describe("a certificate", () => {
  const endsAt = new Date(Date.now() + 86_400_000);
  const one = createSelfSigned(["one"], endsAt);
  const two = createSelfSigned(["two"], endsAt);

  async function createCertificateIdentities() {
    const dir = tempDir();
    const files = { cert: path.join(dir, "cert"), key: path.join(dir, "key") };
    const write = (pair: { cert?: string; key?: string }) => {
      for (const name of ["cert", "key"] as const) {
        if (pair[name] !== undefined) writeFileSync(files[name], pair[name]);
      }
    };
    write(await one);
    const clock = createClock();
    const access = buildAccess({ cert: { file: files.cert }, key: { file: files.key } });
    return { ...createIdentities(access, clock), ...clock, files, write };
  }

  it("is read again after a minute, and only with the key that belongs to it", async () => {
    const { current, pass, write } = await createCertificateIdentities();
    const { cert, key } = await two;
    const first = await current();
    write({ cert });
    pass(60_000);
    const half = await current();
    write({ key });

    pass(1_000);

    expect(half).toBe(first);
    expect(await current()).toMatchObject({ cert: Buffer.from(cert), key: Buffer.from(key) });
  });

  it("may be in one file with its key", async () => {
    const { current, write } = await createCertificateIdentities();
    const { cert, key } = await one;
    const both = `${key}\n${cert}\n`;

    write({ cert: both, key: both });

    expect((await current()).cert?.toString()).toBe(both);
  });

  it.each([
    ["is not there", undefined, /cert does not exist$/],
    ["is no PEM", "s3cret", /cert is no PEM$/],
    [
      "is damaged",
      "-----BEGIN CERTIFICATE-----\ns3cret\n",
      /^the client certificate or its key is damaged, or the key has a passphrase$/,
    ],
  ])("that %s is refused without a word of it", async (_, text, message) => {
    const { current, files, write } = await createCertificateIdentities();
    if (text === undefined) rmSync(files.cert);
    else write({ cert: text });

    await expect(current()).rejects.toThrow(message);
  });

  it("of another key is refused", async () => {
    const { current, write } = await createCertificateIdentities();

    write({ key: (await two).key });

    await expect(current()).rejects.toThrow("do not belong together");
  });
});
