/** `vedette login`, `logout` and `whoami` before the whole program and a real identity provider. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { prepareFile, readSession, saveSession } from "#cli/saved-session.ts";
import { formatUtc } from "#kernel/time.ts";
import { freePort } from "../../support/free-port.ts";
import { enterCode, signInAs } from "../../support/http/form-browser.ts";
import { runVedette, startVedette } from "../../support/program/command.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import {
  type IdentityProvider,
  startIdentityProvider,
} from "../../support/servers/identity-provider.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const verified = (email: string, ...groups: string[]) => ({ email, email_verified: true, groups });

const people = {
  ada: verified("ada@example.com", "managers"),
  ben: verified("ben@example.com", "leads"),
  cem: verified("cem@example.com", "managers", "leads"),
  dora: verified("dora@example.com", "managers", "leads"),
  eve: verified("eve@example.com", "managers", "leads"),
  nobody: verified("nobody@example.com"),
};

const image = "registry.example.com/vedette/sentinel:v2";
const cemsToken = "token-of-cem";
const evesToken = "token-of-eve";
const hashOf = (token: string) => createHash("sha256").update(token).digest("hex");

let identity: IdentityProvider;
let program: Program;

beforeAll(async () => {
  identity = await startIdentityProvider({ people });
  program = await startProgram({
    ...identity.environment,
    VEDETTE_FLEET__PROCESS__SIZE: "4",
    VEDETTE_CONTROL__OIDC__ROLES: "managers=read,operate;leads=approve",
    VEDETTE_CONTROL__OPERATORS__CEM__SIGN_IN: "cem@example.com",
    VEDETTE_CONTROL__OPERATORS__CEM__TOKEN: hashOf(cemsToken),
    VEDETTE_CONTROL__OPERATORS__CEM__ROLES: "operate,approve",
    VEDETTE_CONTROL__OPERATORS__EVE__SIGN_IN: "eve.b@example.com",
    VEDETTE_CONTROL__OPERATORS__EVE__TOKEN: hashOf(evesToken),
    VEDETTE_CONTROL__OPERATORS__EVE__ROLES: "operate,approve",
  });
});

afterAll(async () => {
  await program?.dispose();
  await identity?.stop();
});

/** Somebody's machine: a home directory, and the address of control. */
function machine() {
  const home = tempDir();
  const environment = { HOME: home, VEDETTE_CONTROL_URL: program.endpoints().control };
  return {
    environment,
    run: (...args: string[]) => runVedette(args, environment),
    files: () => readdirSync(home, { recursive: true, encoding: "utf8" }),
    sessionFile: () => {
      const folder = path.join(home, ".config", "vedette", "sessions");
      return path.join(folder, readdirSync(folder)[0] ?? "");
    },
  };
}
type Machine = ReturnType<typeof machine>;

/** Runs a sign-in until it has printed an address that matches. */
async function begin({ environment }: Machine, args: string[], address: RegExp) {
  const command = startVedette(["login", ...args], environment);
  onTestFinished(() => void command.end());
  const what = `the address of ${args.join(" ")}`;
  const url = await waitFor(() => address.exec(command.said())?.[0], { withinMs: 20_000, what });
  return { command, url };
}

const authorization = /^http\S+\/auth\?\S+$/m;

async function login(on: Machine, as: string, ...args: string[]) {
  const { command, url } = await begin(on, args, authorization);
  const page = await signInAs(as, url);
  return { ...(await command.ended), page, url };
}

async function waitsForApproval(by: Machine) {
  await expect
    .poll(async () => (await by.run("rollout", "status")).stdout, { timeout: 60_000 })
    .toContain("waits for  the approval");
}

describe("vedette login", () => {
  it("signs in by the browser, and further commands are made in the person's name", async () => {
    const own = machine();
    const signedIn = await login(own, "ada");
    const whoami = await own.run("whoami");
    const status = await own.run("rollout", "status");
    const approve = await own.run("rollout", "approve");

    expect(signedIn.code).toBe(0);
    expect(signedIn.page.text).toBe(
      "You are signed in as ada@example.com. Close this page, and go back to the terminal.\n",
    );
    expect(signedIn.stdout).toMatch(
      /^signed in at http:\S+ as ada@example\.com, who may read, operate, until 20\S+ \S+ UTC\n$/,
    );
    expect(whoami.stdout).toMatch(
      /^ada@example\.com may read, operate at .* \(by a sign-in, until /,
    );
    expect(status.code).toBe(0);
    expect(approve.stderr).toContain(
      "ada@example.com may read, operate; this call takes approve (control.oidc)",
    );
  });

  it("comes back to a free port of 127.0.0.1, or to the one that is named", async () => {
    const port = await freePort();
    const free = await login(machine(), "ada");
    const named = await login(machine(), "ada", "--port", String(port));
    const redirects = [free, named].map(({ url }) => new URL(url).searchParams.get("redirect_uri"));

    expect(redirects[0]).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    expect(redirects[1]).toBe(`http://localhost:${port}/callback`);
    expect(named.code).toBe(0);
  });

  it("keeps the token in a file of its owner's, and prints it nowhere", async () => {
    const own = machine();
    const { stdout, stderr, page } = await login(own, "ada", "--json");
    const file = own.sessionFile();
    const { token } = JSON.parse(readFileSync(file, "utf8"));

    expect(token).toMatch(/^vds_/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(stdout + stderr + page.text + program.output()).not.toContain(token);
    expect(JSON.parse(stdout)).toEqual({
      url: own.environment.VEDETTE_CONTROL_URL,
      actor: "ada@example.com",
      roles: ["read", "operate"],
      ends_at: expect.any(String),
    });
    expect(program.output()).toMatch(
      /"actor":"ada@example\.com".*"how":"command line".*"msg":"signed in"/,
    );
  });

  it("is not ended by a request of somebody else on this machine", async () => {
    const own = machine();
    const { command, url } = await begin(own, [], authorization);
    const back = new URL(new URL(url).searchParams.get("redirect_uri") ?? "");
    const strangers = await Promise.all(
      ["?code=x&state=guessed", "?error=access_denied", ""].map((query) =>
        fetch(back.href + query),
      ),
    );
    await signInAs("ada", url);

    expect(strangers.map(({ status }) => status)).toEqual([400, 400, 400]);
    expect((await command.ended).code).toBe(0);
  });

  it("says in the terminal and in the browser who has no role", async () => {
    const own = machine();
    const { code, stderr, page } = await login(own, "nobody");

    expect(code).toBe(1);
    expect(stderr).toContain("vedette: nobody@example.com has no role here");
    expect(page.text).toContain("You are not signed in. nobody@example.com has no role here");
    expect(own.files().filter((name) => name.endsWith(".json"))).toEqual([]);
  });

  it("signs in by a code that is entered in another browser", async () => {
    const own = machine();
    const complete = /^or open (\S+)$/m;
    const { command, url } = await begin(own, ["--device"], complete);
    await enterCode("ben", url.replace("or open ", ""));
    const { code, stdout, stderr } = await command.ended;

    expect(code).toBe(0);
    expect(stderr).toMatch(
      /open http:\S+\/device in a browser and enter this code:\n\n {2}\w{4}-\w{4}\n/,
    );
    expect(stdout).toContain("as ben@example.com, who may approve, until");
    expect(program.output()).toMatch(/"actor":"ben@example\.com".*"how":"device"/);
  });

  it("needs a place for the session before anybody signs in", async () => {
    const url = program.endpoints().control;
    const { code, stderr } = await runVedette(["login", "--url", url]);

    expect([code, stderr]).toEqual([
      1,
      "vedette: a session cannot be stored: set HOME or XDG_CONFIG_HOME\n",
    ]);
  });
});

describe("a session of the command line", () => {
  it("ends by vedette logout, at control, too", async () => {
    const own = machine();
    await login(own, "ada");
    const { token } = JSON.parse(readFileSync(own.sessionFile(), "utf8"));
    const before = await program.callAs(token, "Status");

    const { code, stdout } = await own.run("logout");
    const again = await own.run("logout");

    expect(before.status).toBe(200);
    expect([code, stdout]).toEqual([
      0,
      `signed out ada@example.com at ${own.environment.VEDETTE_CONTROL_URL}\n`,
    ]);
    expect(again.stdout).toMatch(/^nobody is signed in at /);
    expect((await program.callAs(token, "Status")).status).toBe(401);
    expect(own.files().filter((name) => name.endsWith(".json"))).toEqual([]);
  });

  it("is deleted also while control is away, which the exit code says", async () => {
    const home = { HOME: tempDir() };
    const url = `http://127.0.0.1:${await freePort()}`;
    const ends_at = new Date(Date.now() + 3_600_000).toISOString();
    saveSession({ url, token: "vds_x", actor: "ada", ends_at }, home);

    const { code, stderr } = await runVedette(["logout", "--url", url], home);

    expect(code).toBe(1);
    expect(stderr).toContain(`stays valid there until ${formatUtc(ends_at)}`);
    expect(readSession(url, home)).toBeUndefined();
  });

  it("is deleted also when its file is damaged", async () => {
    const home = { HOME: tempDir() };
    const url = program.endpoints().control;
    writeFileSync(prepareFile(url, home), "{");

    const { code, stderr } = await runVedette(["logout", "--url", url], home);

    expect([code, stderr]).toEqual([0, expect.stringContaining("is damaged: it is deleted")]);
    expect(readSession(url, home)).toBeUndefined();
  });

  it("ends at control when another one takes its place", async () => {
    const own = machine();
    await login(own, "ada");
    const { token } = JSON.parse(readFileSync(own.sessionFile(), "utf8"));

    await login(own, "ada");

    expect((await program.callAs(token, "Status")).status).toBe(401);
    expect((await own.run("whoami")).code).toBe(0);
  });

  it("that has ended at control says what to do", async () => {
    const own = machine();
    await login(own, "ada");
    const { token } = JSON.parse(readFileSync(own.sessionFile(), "utf8"));
    await fetch(`${program.endpoints().control}/sign-in/session`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${token}` },
    });

    const ended = [await own.run("rollout", "status"), await own.run("whoami")];

    expect(ended.map(({ code }) => code)).toEqual([1, 1]);
    for (const { stderr } of ended) {
      expect(stderr).toMatch(/^vedette: your session at http:\S+ has ended: run `vedette login`/);
    }
  });

  it("opens no session of the console", async () => {
    const own = machine();
    await login(own, "ada");
    const { token } = JSON.parse(readFileSync(own.sessionFile(), "utf8"));
    const console = `${program.endpoints().control}/console/api/session`;
    const asToken = await fetch(console, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token }),
    });
    const asCookie = await fetch(console, { headers: { cookie: `vedette_session=${token}` } });

    expect([asToken.status, asCookie.status]).toEqual([401, 401]);
  });

  it("is taken at Restate's own addresses as at control", async () => {
    const own = machine();
    await login(own, "ada");
    const { token } = JSON.parse(readFileSync(own.sessionFile(), "utf8"));
    const address = `${program.endpoints().restate_ingress}/vedette.v1.SentinelRolloutService/singleton`;
    const call = async (handler: string) => {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      return (await fetch(`${address}/${handler}`, { method: "POST", headers, body: "{}" })).status;
    };

    expect([await call("Status"), await call("Approve")]).toEqual([200, 403]);
  });

  it("approves no rollout that the same person has started with a token, nor the other way round", async () => {
    const url = program.endpoints().control;
    const cem = machine();
    const ben = machine();
    await login(cem, "cem");
    await login(ben, "ben");
    const withToken = (...args: string[]) =>
      runVedette([...args, "--url", url], { INGRESS_TOKEN: cemsToken });
    const waits = () => waitsForApproval(ben);
    const request = ["rollout", "start", image, "--waves", "50,100", "--approvals", "every_wave"];

    const started = cem.run(...request, "--wait");
    await waits();
    const byToken = await withToken("rollout", "approve");
    await cem.run("rollout", "cancel");
    await started;

    expect(byToken.stderr).toContain("cem has started this rollout");
    const second = withToken(...request, "--wait");
    await waits();
    const bySession = await cem.run("rollout", "approve");
    const byBen = await ben.run("rollout", "approve", "--reason", "it is fine");
    await withToken("rollout", "cancel");
    await second;

    expect(bySession.stderr).toContain("cem has started this rollout");
    expect(byBen.code).toBe(0);
  });

  it("approves no rollout that the same person has started under an earlier address", async () => {
    const before = machine();
    const after = machine();
    await login(before, "dora");
    const request = ["rollout", "start", image, "--waves", "50,100", "--approvals", "every_wave"];
    const started = before.run(...request, "--wait");
    await waitsForApproval(before);
    people.dora = verified("dora.b@example.com", "managers", "leads");

    const { stdout } = await login(after, "dora");
    const approved = await after.run("rollout", "approve");
    await before.run("rollout", "cancel");
    await started;

    expect(stdout).toContain("as dora@example.com, who may read, operate, approve");
    expect(approved.code).toBe(1);
    expect(approved.stderr).toContain("dora@example.com has started this rollout");
  });

  it("approves no rollout that the same person has started before the address became an operator's", async () => {
    const before = machine();
    const after = machine();
    await login(before, "eve");
    await before.run("rollout", "start", image, "--waves", "50,100", "--approvals", "every_wave");
    await waitsForApproval(before);
    people.eve = verified("eve.b@example.com", "managers", "leads");

    const { stdout } = await login(after, "eve");
    const ended = await before.run("rollout", "status");
    const bySession = await after.run("rollout", "approve");
    const byToken = await runVedette(["rollout", "approve"], {
      VEDETTE_CONTROL_URL: program.endpoints().control,
      INGRESS_TOKEN: evesToken,
    });
    await after.run("rollout", "cancel");

    expect(stdout).toContain("as eve, who may operate, approve");
    expect(ended.stderr).toContain("session");
    const words = "eve has started this rollout, as eve@example.com";
    expect([bySession.stderr, byToken.stderr]).toEqual([
      expect.stringContaining(words),
      expect.stringContaining(words),
    ]);
  });
});
