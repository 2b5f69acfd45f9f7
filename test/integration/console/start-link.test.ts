/** The link that a start prints on a terminal: one click signs in, in a real browser, and only once. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../support/free-port.ts";
import { entry } from "../../support/program/command.ts";
import { hasTerminal, type OnTerminal, startOnTerminal } from "../../support/program/terminal.ts";
import { hasBrowser, openPage } from "../../support/servers/browser.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const run = promisify(execFile);

const isPossible = hasBrowser && hasTerminal;

const dir = makeTempDir();
let environment: Record<string, string>;
let program: OnTerminal;

beforeAll(async () => {
  if (!isPossible) return;
  // The same address after a restart, for a link that was printed before it.
  environment = { VEDETTE_CONTROL__PORT: String(await freePort()) };
  program = await startOnTerminal(dir.path, environment);
});

afterAll(async () => {
  await program?.stop();
  dir.remove();
});

const linkOf = (run: OnTerminal) => run.link() ?? "";

async function open(address: string) {
  const opened = await openPage();
  await opened.page.goto(address);
  const pages = opened.page.getByRole("navigation", { name: "Pages" });
  const refusal = opened.page.getByText("This link has been used");
  await pages.or(refusal).waitFor();
  return { ...opened, isSignedIn: await pages.isVisible() };
}

describe.skipIf(!isPossible)("the link of a start", () => {
  it("survives fetches of its address, signs in by one click, and is gone from the address", async () => {
    const [address, ticket = ""] = linkOf(program).split("#ticket=");
    for (const method of ["GET", "HEAD"]) await fetch(`${address}`, { method });

    const { page, requests, complaints, isSignedIn } = await open(linkOf(program));

    expect(isSignedIn).toBe(true);
    expect(page.url()).toBe(`${program.control}/console`);
    expect(await page.evaluate("history.length")).toBeLessThanOrEqual(2);
    expect(requests.filter((url) => url.includes(ticket))).toEqual([]);
    expect(complaints.filter((line) => !line.includes("401"))).toEqual([]);
    await page.getByTitle("Signed in as ingress-token").waitFor();
    expect(program.output()).toMatch(/"?how"?: "ticket"/);
  });

  it("is refused the second time, in words, also after the program was killed", async () => {
    const used = linkOf(program);
    await open(used);
    const before = await open(used);
    await program.kill9();
    program = await startOnTerminal(dir.path, environment);

    const after = await open(used);

    expect([before.isSignedIn, after.isSignedIn]).toEqual([false, false]);
    await after.page.getByLabel("Token").waitFor();
    expect(after.page.url()).toBe(`${program.control}/console`);
  });

  it("signs in a tab that shows the sign-in page already, and leaves a session as it is", async () => {
    const { page } = await openPage();
    await page.goto(program.control);
    await page.getByLabel("Token").waitFor();
    expect(page.url()).toBe(`${program.control}/console`);

    await page.goto(linkOf(program));

    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    await page.goto(`${program.control}/console#ticket=${"A".repeat(22)}`);
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    expect(await page.getByText("This link has been used").count()).toBe(0);
  });

  it("is in sight: the sentinels of a first start are one line, and it is the banner's last", async () => {
    const fresh = makeTempDir();
    const first = await startOnTerminal(fresh.path, { VEDETTE_FLEET__PROCESS__SIZE: "3" });
    onTestFinished(async () => {
      await first.stop();
      fresh.remove();
    });

    expect(first.output()).toContain("3 sentinels start");
    expect(first.output()).not.toContain("starting sentinel process");
    expect(first.output()).toMatch(/rollout start[\s\S]+Console +http\S+#ticket=\S+\r?\n/);
  });

  it("is replaced by `vedette console`, which opens a new one that no list of processes has", async () => {
    const bin = makeTempDir();
    onTestFinished(() => bin.remove());
    const args = path.join(bin.path, "args");
    const opener = `#!/bin/sh\nprintf %s "$*" > ${args}.new && mv ${args}.new ${args}\n`;
    writeFileSync(path.join(bin.path, "xdg-open"), opener, { mode: 0o755 });
    const environment = { VEDETTE_DATA_DIR: dir.path, PATH: `${bin.path}:${process.env["PATH"]}` };

    const { stdout } = await run(process.execPath, [entry, "console", "--open"], {
      env: environment,
    });

    expect(stdout).toMatch(/^http\S+\/console#ticket=\S{22}\n$/);
    await waitFor(() => existsSync(args), { withinMs: 10_000, what: "the opener" });
    const opened = readFileSync(args, "utf8");
    expect(opened).toBe(path.join(dir.path, "console.html"));
    expect(statSync(opened).mode & 0o777).toBe(0o600);
    expect((await open(`file://${opened}`)).isSignedIn).toBe(true);
    expect((await open(stdout.trim())).isSignedIn).toBe(false);
  });

  it("leads from the API's address to its reference", async () => {
    const answer = await fetch(program.api);

    expect(answer.url).toBe(`${program.api}/docs/`);
    expect(answer.status).toBe(200);
  });

  it.each([
    { where: "the log is JSON", settings: { VEDETTE_LOG__FORMAT: "json" } },
    {
      where: "people sign in at an identity provider",
      settings: {
        VEDETTE_CONTROL__OIDC__ISSUER: "https://id.example.com",
        VEDETTE_CONTROL__OIDC__CLIENT_ID: "vedette",
        VEDETTE_CONTROL__OIDC__DEFAULT_ROLES: "read",
      },
    },
  ])("is not there when $where: then the plain address is", async ({ settings }) => {
    await program.stop();
    program = await startOnTerminal(dir.path, { ...environment, ...settings });

    expect(program.link()).toBeUndefined();
    expect(program.output()).toMatch(/Console +http:\S+\/console\r?\n/);
  });
});
