import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { saveSession } from "#cli/saved-session.ts";
import { findTarget, findUrl } from "#cli/target.ts";
import { identifyProcess } from "#kernel/process.ts";
import { tempDir } from "../support/temp-dir.ts";

/** The files that a running program has in its data directory, with what a newer one may add. */
function localVedette(files: { endpoints?: unknown; credentials?: unknown } = {}): string {
  const dataDir = tempDir();
  const endpoints = files.endpoints ?? { control: "http://127.0.0.1:7071", newer: [1] };
  const credentials = files.credentials ?? { ingress_token: "local-token", newer: "x" };
  writeFileSync(path.join(dataDir, "endpoints.json"), JSON.stringify(endpoints));
  writeFileSync(path.join(dataDir, "credentials.json"), JSON.stringify(credentials));
  return dataDir;
}

describe("findTarget", () => {
  it("finds a local Vedette by its data directory, whatever else its files hold", () => {
    const target = findTarget({ dataDir: localVedette() }, {});

    expect(target).toMatchObject({ url: "http://127.0.0.1:7071", token: "local-token" });
    expect(target.source).toMatch(/credentials.json$/);
  });

  it("leaves out the line end after a token, and takes an empty one for none", () => {
    const withToken = (token: string) =>
      findTarget({ dataDir: localVedette() }, { INGRESS_TOKEN: token }).token;

    expect([withToken("environment-token\n"), withToken("\n")]).toEqual([
      "environment-token",
      "local-token",
    ]);
  });

  it("prefers the environment to the data directory, and options to both", () => {
    const environment = {
      VEDETTE_DATA_DIR: localVedette(),
      VEDETTE_CONTROL_URL: "https://a.example.com/",
      INGRESS_TOKEN: "environment-token",
    };

    expect(findTarget({}, environment)).toEqual({
      url: "https://a.example.com",
      token: "environment-token",
      source: "INGRESS_TOKEN",
    });
    expect(findTarget({ url: "https://b.example.com/v" }, environment).url).toBe(
      "https://b.example.com/v",
    );
  });

  it("reads a token from a file, without the newline", () => {
    const file = path.join(tempDir(), "token");
    writeFileSync(file, "file-token\n");

    const { token } = findTarget(
      { url: "https://a.example.com", tokenFile: file },
      { INGRESS_TOKEN: "other" },
    );

    expect(token).toBe("file-token");
  });

  it("treats an empty variable as not set", () => {
    const environment = {
      VEDETTE_DATA_DIR: localVedette(),
      VEDETTE_CONTROL_URL: "",
      INGRESS_TOKEN: "",
    };

    expect(findTarget({}, environment).token).toBe("local-token");
  });

  it.each(["https://elsewhere.example.com", "http://127.0.0.1.example.com:7071"])(
    "does not send the local token to %s",
    (url) => {
      const environment = { VEDETTE_DATA_DIR: localVedette() };

      expect(() => findTarget({ url }, environment)).toThrow(/^no token for .*INGRESS_TOKEN/);
    },
  );

  it.each(["http://127.0.0.1:7072", "http://localhost", "http://[::1]:17071"])(
    "does not send the local token to %s, where another program of this machine may listen",
    (url) => {
      const environment = { VEDETTE_DATA_DIR: localVedette() };

      expect(() => findTarget({ url }, environment)).toThrow(/^no token for .*INGRESS_TOKEN/);
    },
  );

  it("does not send the local token to the port of a killed program that is named", () => {
    const process = { ...identifyProcess(globalThis.process.pid), startedAt: "1" };
    const dataDir = localVedette({ endpoints: { control: "http://127.0.0.1:7071", process } });

    expect(() => findTarget({ dataDir, url: "http://127.0.0.1:7071" }, {})).toThrow(
      /^no token for/,
    );
  });

  it.each(["localhost:7071", "127.0.0.1:7071/", "[::1]:7071", "127.0.0.2:7071", "0.0.0.0:7071"])(
    "sends the local token for %s where the program listens, and not to that port of another address",
    (at) => {
      const target = findTarget({ dataDir: localVedette(), url: `http://${at}` }, {});

      expect(target).toMatchObject({ url: "http://127.0.0.1:7071", token: "local-token" });
    },
  );

  it("does not send the local token without the TLS that is asked for", () => {
    const find = () => findTarget({ dataDir: localVedette(), url: "https://localhost:7071" }, {});

    expect(find).toThrow(/^no token for/);
  });

  it("does not send the local token to the port that a program had before the machine's start", () => {
    const process = { ...identifyProcess(globalThis.process.pid), bootId: "another" };
    const dataDir = localVedette({ endpoints: { control: "http://127.0.0.1:7071", process } });

    expect(() => findTarget({ dataDir }, {})).toThrow(/no Vedette runs on/);
    expect(() => findTarget({ dataDir, url: "http://127.0.0.1:7071" }, {})).toThrow(/^no token/);
  });

  it("does not send the local token to another program on the port of a killed one", () => {
    const process = { ...identifyProcess(globalThis.process.pid), startedAt: "1" };
    const dataDir = localVedette({ endpoints: { control: "http://127.0.0.1:7071", process } });

    expect(() => findTarget({ dataDir }, {})).toThrow(/no Vedette runs on/);
  });

  it("finds a Vedette whose process is running, and one that cannot be seen from here", () => {
    const own = identifyProcess(globalThis.process.pid);
    const processes = [own, { ...own, pidNamespace: "another" }];

    const urls = processes.map((process) => {
      const dataDir = localVedette({ endpoints: { control: "http://127.0.0.1:7071", process } });
      return findTarget({ dataDir }, {}).url;
    });

    expect(urls).toEqual(["http://127.0.0.1:7071", "http://127.0.0.1:7071"]);
  });

  it("takes an address of this machine's own network card from its data directory", () => {
    const own = Object.values(networkInterfaces()).flatMap((all = []) => all);
    const urls = own.map(({ address, family }) =>
      family === "IPv6" ? `http://[${address}]:7071` : `http://${address}:7071`,
    );

    const found = urls.map((control) => {
      const dataDir = localVedette({ endpoints: { control } });
      return findTarget({ dataDir }, { INGRESS_TOKEN: "of-the-user" }).url;
    });

    expect(found).toEqual(urls);
  });

  it("says what to do when nothing runs", () => {
    expect(() => findTarget({ dataDir: tempDir() }, {})).toThrow(
      /no Vedette runs on .*"vedette start"/,
    );
  });

  it.each(["localhost:7071", "ftp://x", "7071"])("refuses %s as an address", (url) => {
    expect(() => findTarget({ url }, { INGRESS_TOKEN: "t" })).toThrow("is no address of control");
  });

  it.each([
    ["https://a.example/#x", "it has a #"],
    ["https://a.example /", "it has a blank"],
    ["https://ada:hunter2@a.example", "it has a user or a password: name the token by"],
    ["https://ada:hun ter2@a.example", "it has a blank"],
    ["https://ada:hun/ter2@a.example", "it has a / or ? in its password"],
    ["ada:hunter2@a.example", "it has to be a whole address"],
  ])("says of the address %s what is wrong with it", (url, words) => {
    const find = () => findTarget({ url }, { INGRESS_TOKEN: "t" });

    expect(find).toThrow(words);
    expect(find).not.toThrow(/hun|ter2/);
  });

  it("names a damaged file, and none of its content", () => {
    const dataDir = localVedette({ credentials: { ingress_token: 5, secret: "s3cret" } });

    expect(() => findTarget({ dataDir }, {})).toThrow(/credentials\.json is damaged$/);
  });
});

describe("findTarget in a folder that somebody else may have made", () => {
  const before = process.cwd();
  afterEach(() => process.chdir(before));

  const named = { INGRESS_TOKEN: "environment-token" };

  /** The working directory becomes one with a `.vedette` that leads there, as a program leaves it; returns that file. */
  function enterFolder(control: string, more: object = {}): string {
    const folder = tempDir();
    const dataDir = path.join(folder, ".vedette");
    mkdirSync(dataDir);
    const file = path.join(dataDir, "endpoints.json");
    const identity = { process: identifyProcess(process.pid) };
    writeFileSync(file, JSON.stringify({ control, ...identity, ...more }), { mode: 0o600 });
    process.chdir(folder);
    return file;
  }

  it.each([
    "https://elsewhere.example.com",
    "http://192.0.2.1:7071",
    "http://127.0.0.1.example.com",
  ])("does not send a named token to %s, which only the folder names", (control) => {
    enterFolder(control);
    const tokenFile = path.join(tempDir(), "token");
    writeFileSync(tokenFile, "file-token");

    expect(() => findTarget({}, named)).toThrow(/name it by --url/);
    expect(() => findTarget({}, { INGRESS_TOKEN_FILE: tokenFile })).toThrow(/name it by --url/);
    expect(() => findTarget({ tokenFile }, {})).toThrow(/name it by --url/);
  });

  it("finds the data directory of the settings in the folder, and sends no named token elsewhere for them", () => {
    enterFolder("http://127.0.0.1:7071");
    const control = "https://elsewhere.example.com";
    mkdirSync("data");
    writeFileSync("data/endpoints.json", JSON.stringify({ control }));
    writeFileSync("vedette.toml", 'data_dir = "data"\n');

    expect(findUrl({}, {})).toBe(control);
    expect(() => findTarget({}, named)).toThrow(
      /data\/endpoints\.json leads to .*name it by --url/,
    );
  });

  it("reads no settings out of a device", () => {
    enterFolder("http://127.0.0.1:7071");
    symlinkSync("/dev/zero", "vedette.toml");

    expect(findUrl({}, {})).toBe("http://127.0.0.1:7071");
  });

  it("does not follow a link to another folder's file with a named token", () => {
    const file = enterFolder("https://elsewhere.example.com");
    const folder = tempDir();
    symlinkSync(path.dirname(file), path.join(folder, ".vedette"));
    process.chdir(folder);

    expect(() => findTarget({}, named)).toThrow(/name it by --url/);
  });

  it.skipIf(process.getuid?.() !== 0)(
    "does not send a named token to a port of this machine that another user's file names",
    () => {
      chownSync(enterFolder("http://127.0.0.1:7071"), 12_345, 12_345);

      expect(() => findTarget({}, named)).toThrow(/name it by --url/);
    },
  );

  const ended = { ...identifyProcess(process.pid), startedAt: "1" };
  const elsewhere = { ...identifyProcess(process.pid), pidNamespace: "another" };

  it.each([
    ["names no process", undefined],
    ["names a process that has ended", ended],
    ["names a process of another container", elsewhere],
  ])("does not send a named token to a port of this machine when the file %s", (_, identity) => {
    enterFolder("http://127.0.0.1:7071", { process: identity });

    expect(() => findTarget({}, named)).toThrow(/name it by --url|no Vedette runs on/);
  });

  it("does not send a named token to a port that a file names which others may read, as those of a clone", () => {
    chmodSync(enterFolder("http://127.0.0.1:7071"), 0o644);

    expect(() => findTarget({}, named)).toThrow(/name it by --url/);
  });

  it("does not send a session to the port where it began, which the folder names, unless the user's program runs there", () => {
    const url = "http://127.0.0.1:7071";
    const home = { XDG_CONFIG_HOME: tempDir() };
    saveSession({ url, token: "vds_ada", actor: "ada", ends_at: "2999-01-01T00:00:00Z" }, home);

    enterFolder(url, { process: undefined });
    expect(() => findTarget({}, home)).toThrow(/name it by --url/);
    enterFolder(url);
    expect(findTarget({}, home).token).toBe("vds_ada");
  });

  it("does not send the token of another data directory, to which the folder has a link", () => {
    const file = enterFolder("http://127.0.0.1:7071", { process: undefined });
    symlinkSync(
      path.join(localVedette(), "credentials.json"),
      path.join(path.dirname(file), "credentials.json"),
    );

    expect(() => findTarget({}, {})).toThrow(/name it by --url/);
  });

  it("sends a named token to the Vedette of the folder on this machine", () => {
    enterFolder("http://127.0.0.1:7071");

    expect(findTarget({}, named)).toMatchObject({
      ...{ url: "http://127.0.0.1:7071", token: "environment-token" },
    });
  });

  it("sends a named token to another machine that the user names, or whose folder", () => {
    enterFolder("https://elsewhere.example.com");
    const chosen = [{ url: "https://elsewhere.example.com" }, { dataDir: ".vedette" }];
    const variables = [
      { VEDETTE_CONTROL_URL: "https://elsewhere.example.com" },
      { VEDETTE_DATA_DIR: ".vedette" },
    ];

    const urls = [
      ...chosen.map((options) => findTarget(options, named).url),
      ...variables.map((more) => findTarget({}, { ...named, ...more }).url),
    ];

    expect(new Set(urls)).toEqual(new Set(["https://elsewhere.example.com"]));
  });
});
