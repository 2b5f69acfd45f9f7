/** Every secret that the program makes, and every setting that is one, is masked in text that is kept. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { newKeyMaterial } from "#api/keys/create-key.ts";
import { makeToken } from "#cli/token.ts";
import { secretSettings } from "#config.ts";
import { ticketBytes } from "#console/contract.ts";
import { createBearers } from "#control/sign-in/people.ts";
import { loadCredentials } from "#embedded/credentials.ts";
import { boundDriver } from "#fleet/drivers/bounded.ts";
import type { DeployOrder, SentinelObservation } from "#fleet/drivers/driver.ts";
import { cleanLog, cleanWords, createLog, maskSecrets, secretPrefixes } from "#kernel/log.ts";

const dataDir = mkdtempSync(path.join(tmpdir(), "vedette-secrets-"));
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

const session = createBearers(Buffer.alloc(32, 7)).seal({
  ...{ id: "x", actor: "ada", roles: ["read"], mark: "y", endsAtMs: 2e12 },
});
const random = Buffer.from(Array.from({ length: 40 }, (_, index) => (index * 89 + 41) % 256));

/** One in three thousand has neither a digit nor two capitals side by side, and is taken for a word. */
function makeKey(): string {
  const { key } = newKeyMaterial({ prefix: "acme_live", bytes: 16 });
  return /\d|[A-Z]{2}/.test(key) ? key : makeKey();
}

/** Of each kind that the program makes one. */
const made: Record<string, string> = {
  ...loadCredentials(dataDir),
  "token of an operator, a runner, a heartbeat": makeToken().token,
  "session of the command line": session,
  "key of the API, with a prefix": makeKey(),
  "signing secret of a webhook": `whsec_${random.toString("base64")}`,
};

/** How programs print things. `$` stands for the secret. */
const lines = [
  "$",
  "using $ for now",
  "key=$",
  '{"level":30,"value":"$","n":1}',
  String.raw`{"m":"{\"value\":\"$\"}"}`,
  "refused: '$', see the manual",
  "GET /v2/keys?k=$&n=1 404",
  "GET http://127.0.0.1:8480/ping/$/start 404",
  "[$]",
  String.raw`{"stack":"Error: refused\n$\n    at run (a.js:1)"}`,
  String.raw`{"m":"{\"e\":\"a\\n$\\n\"}"}`,
  String.raw`{"m":"\u001b[31m$\u001b[0m"}`,
  String.raw`{"m":"\u0022$\u0022"}`,
  String.raw`say \x1b[1m$\x1b[0m`,
  "\u001b[1;31m$\u001b[0m",
  "GET /a?next=http%3A%2F%2Fb%3Fk%3D$%26n%3D1",
  "GET /a?next=%252Fb%253Fk%253D$",
];

/** The parts of it by which it is found again, also when a line's end or its marks were cut off. */
const partsOf = (secret: string) =>
  (secret.match(/[\w-]{12,}/g) ?? []).map((part) => part.slice(-12));

describe.each(Object.entries(made))("the %s", (_, secret) => {
  it.each(lines)("is masked in %j", (line) => {
    const kept = cleanLog(`started\n${line.replace("$", () => secret)}\nready`, { lines: 100 });

    for (const part of partsOf(secret)) expect(kept).not.toContain(part);
    expect(kept.startsWith("started")).toBe(true);
    expect(kept.endsWith("ready")).toBe(true);
  });

  it.each(lines)("is masked in a reason %j", (line) => {
    const kept = cleanWords(`started ${line.replace("$", () => secret)} ready`, 1_000);

    for (const part of partsOf(secret)) expect(kept).not.toContain(part);
  });
});

it("a secret is masked in the reasons of a fleet, and the beginnings of words around it remain", async () => {
  const reason = `crashed: ${secretPrefixes.rootKey}abcdefghijkl is refused`;
  const driver = boundDriver(
    {
      list: async () => [],
      start: async () => {},
      stop: async () => {},
      apply: async () => ({ failure: reason }),
      observe: async () => ({ phase: "failed", reason }) as unknown as SentinelObservation,
    },
    createLog({ level: "silent", format: "json" }),
  );
  const order = {} as DeployOrder;

  const reasons = [(await driver.apply(order)).failure, (await driver.observe(order)).reason];

  expect(reasons).toEqual(["crashed: *** is refused", "crashed: *** is refused"]);
});

it("the ticket of a link is masked", () => {
  const ticket = random.subarray(0, ticketBytes).toString("base64url");

  const kept = maskSecrets(`http://127.0.0.1:8480/console#ticket=${ticket} signs in once`);

  expect(kept).toBe("http://127.0.0.1:8480/console#ticket=*** signs in once");
});

const aliases = ["INGRESS_TOKEN", "VEDETTE_ROOT_KEY", "VEDETTE_SECRET_PAGER"];

describe("the value of a secret setting is masked", () => {
  const names = secretSettings.map(
    (setting) =>
      `VEDETTE_${setting.replaceAll("<name>", "eu").replaceAll(".", "__").toUpperCase()}`,
  );

  it.each([...names, ...aliases])("in the environment: %s", (name) => {
    for (const line of [
      `${name}=hunter-two`,
      `export ${name}="hunter-two"`,
      `${name}: hunter-two`,
    ]) {
      expect(maskSecrets(line)).not.toContain("hunter");
    }
  });

  /** Any address is named so: of these the password is masked. */
  const isPlain = (setting: string) => /(?:^|[._])(?:url|key)$/.test(setting);

  it.each(secretSettings.filter((setting) => !isPlain(setting)))("in a file: %s", (setting) => {
    const name = setting.split(".").at(-1);
    for (const line of [
      `${name} = "hunter-two"`,
      `{"${name}":"hunter-two"}`,
      `${name}: hunter-two`,
    ]) {
      expect(maskSecrets(line)).not.toContain("hunter");
    }
  });

  it.each(secretSettings.filter(isPlain))("as a password in it, in a file: %s", (setting) => {
    const name = setting.split(".").at(-1);

    const kept = maskSecrets(`${name} = "https://user:hunter-two@example.com/a"`);

    expect(kept).not.toContain("hunter");
  });
});

/** Who draws random bytes makes either a secret that is above, or none. */
const drawers: Record<string, "masked" | "never shown" | "no secret"> = {
  "src/api/analytics/engine/embedded-engine.ts": "masked",
  "src/api/cache/invalidation.ts": "no secret",
  "src/api/docs/routes.ts": "no secret",
  "src/api/ids.ts": "no secret",
  "src/api/keys/create-key.ts": "masked",
  "src/api/keys/recoverable/key-ring.ts": "no secret",
  "src/api/operator/root-keys.ts": "masked",
  "src/api/ratelimit/limiter/cell-memory.ts": "never shown",
  "src/app/own-keys.ts": "never shown",
  "src/cli/token.ts": "masked",
  "src/console/server/live.ts": "no secret",
  "src/console/server/session.ts": "no secret",
  "src/console/server/stored.ts": "masked",
  "src/control/control.ts": "never shown",
  "src/control/sign-in/people.ts": "no secret",
  "src/embedded/credentials.ts": "masked",
  "src/fleet/drivers/process-child.ts": "never shown",
  "src/kernel/crypto.ts": "no secret",
  "src/kernel/session-locks.ts": "no secret",
  "src/rollout/services.ts": "never shown",
};

it("no other file than these draws random bytes: a new secret needs a form and a row here", () => {
  const found = execFileSync("grep", ["-rlE", "randomBytes|getRandomValues|generateKey", "src"], {
    encoding: "utf8",
  });

  const files = found
    .trim()
    .split("\n")
    .filter((file) => /\.tsx?$/.test(file));

  expect(files.toSorted()).toEqual(
    // Of these nothing but a private key in PEM comes, which has a form of its own.
    [...Object.keys(drawers), "src/app/servers.ts"].toSorted(),
  );
});

it("no file but that of the forms writes the beginning of a secret that it makes", () => {
  const beginning = `\`(${Object.values(secretPrefixes).join("|")})`;

  const found = () =>
    execFileSync("grep", ["-rlE", `${beginning}\\$`, "src"], { encoding: "utf8" });

  // grep ends with 1 when there is nothing.
  expect(found).toThrow("Command failed");
});
