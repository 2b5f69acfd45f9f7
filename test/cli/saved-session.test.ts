/** The sessions of `vedette login`, and which token commands use. */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { deleteSession, readSession, requireFile, saveSession } from "#cli/saved-session.ts";
import { findTarget } from "#cli/target.ts";
import { tempDir } from "../support/temp-dir.ts";

const url = "https://rollouts.example.com";
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();
const session = (ends_at = inAnHour()) => ({ url, token: "vds_abc", actor: "ada", ends_at });

/** A home directory with a session. */
function homeWith(saved = session()): { HOME: string } {
  const environment = { HOME: tempDir() };
  saveSession(saved, environment);
  return environment;
}

describe("a saved session", () => {
  it("is in a file of its address that the owner alone can read", () => {
    const environment = homeWith();
    const file = requireFile(url, environment);

    expect(file).toMatch(/\/\.config\/vedette\/sessions\/[0-9a-f]{32}\.json$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700);
    expect(readdirSync(path.dirname(file))).toHaveLength(1);
  });

  it("is read again until it is deleted, and by its own address only", () => {
    const environment = homeWith();
    const found = [readSession(url, environment), readSession(`${url}/v`, environment)];
    deleteSession(url, environment);

    expect(found).toEqual([expect.objectContaining({ token: "vds_abc" }), undefined]);
    expect(readSession(url, environment)).toBeUndefined();
  });

  it("is deleted without a home directory, where there is none", () => {
    expect(() => deleteSession(url, {})).not.toThrow();
  });

  it("is below XDG_CONFIG_HOME, if that is an absolute path", () => {
    const config = tempDir();

    expect(requireFile(url, { XDG_CONFIG_HOME: config, HOME: "/home/ada" })).toMatch(
      new RegExp(`^${config}/vedette/sessions/`),
    );
    expect(requireFile(url, { XDG_CONFIG_HOME: "relative", HOME: "/home/ada" })).toMatch(
      /^\/home\/ada\/\.config\/vedette\/sessions\//,
    );
  });

  it("has no place without a home directory", () => {
    expect(readSession(url, {})).toBeUndefined();
    expect(() => requireFile(url, {})).toThrow("set HOME or XDG_CONFIG_HOME");
  });

  it("says so when its file is damaged", () => {
    const environment = homeWith();
    writeFileSync(requireFile(url, environment), '{"token":');

    expect(() => readSession(url, environment)).toThrow(/is damaged: run `vedette login`/);
  });
});

describe("findTarget", () => {
  const tokenOf = (environment: Record<string, string>, tokenFile?: string) =>
    findTarget({ url, tokenFile }, environment).token;

  it("uses the session after --token-file and INGRESS_TOKEN", () => {
    const environment = homeWith();
    const file = path.join(tempDir(), "token");
    writeFileSync(file, "of-the-file");

    expect(tokenOf(environment)).toBe("vds_abc");
    expect(tokenOf({ ...environment, INGRESS_TOKEN: "" })).toBe("vds_abc");
    expect(tokenOf({ ...environment, INGRESS_TOKEN: "of-all" })).toBe("of-all");
    expect(tokenOf({ ...environment, INGRESS_TOKEN: "of-all" }, file)).toBe("of-the-file");
  });

  it("uses it before the local data directory, which it does after signing out", () => {
    const dataDir = tempDir();
    const local = "http://127.0.0.1:7071";
    writeFileSync(path.join(dataDir, "credentials.json"), '{"ingress_token":"local"}');
    writeFileSync(path.join(dataDir, "endpoints.json"), JSON.stringify({ control: local }));
    const environment = homeWith({ ...session(), url: local });
    const find = () => findTarget({ url: local, dataDir }, environment);

    const before = find();
    deleteSession(local, environment);

    expect(before).toMatchObject({ url: local, token: "vds_abc", isSession: true });
    expect(find()).toMatchObject({ url: local, token: "local" });
  });

  it.each(["2026-01-01T00:00:00.000Z", "no date"])(
    "says what to do about one that ended at %s, and takes no other token instead",
    (ends_at) => {
      const environment = homeWith(session(ends_at));

      expect(() => findTarget({ url }, environment)).toThrow(
        /^your session at https:\/\/rollouts\.example\.com has ended: run `vedette login`/,
      );
    },
  );

  it("sends the session to no other address", () => {
    const environment = homeWith();

    expect(() => findTarget({ url: "https://evil.example" }, environment)).toThrow(/^no token for/);
    expect(readFileSync(requireFile(url, environment), "utf8")).toContain("vds_abc");
  });
});
