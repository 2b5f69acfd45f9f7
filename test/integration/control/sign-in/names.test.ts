/** Names of accounts in Postgres, with a real identity provider, and in several processes. */
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { createNames, type Names } from "#control/sign-in/names.ts";
import { createLog } from "#kernel/log.ts";
import { signInAs } from "../../../support/http/form-browser.ts";
import { makeSecret, startSignInBench } from "../../../support/program/sign-in-bench.ts";
import { prepareDatabase } from "../../../support/run/prepare-database.ts";
import {
  type IdentityProvider,
  type People,
  startIdentityProvider,
} from "../../../support/servers/identity-provider.ts";

const { database } = prepareDatabase();
const log = createLog({ level: "silent", format: "json" });
const redirectUri = "http://127.0.0.1:50505/callback";

const verified = (email: string) => ({ email, email_verified: true, groups: ["all"] });

const people: People = {};

let identity: IdentityProvider;

beforeAll(async () => {
  identity = await startIdentityProvider({ people });
});

afterAll(() => identity.stop());

async function signIn(login: string, environment: Record<string, string> = {}) {
  const bench = await startSignInBench({
    environment: {
      ...identity.environment,
      VEDETTE_CONTROL__OIDC__ROLES: "all=read,operate",
      ...environment,
    },
    names: createNames(database(), log),
  });
  onTestFinished(() => bench.stop());
  const { verifier, challenge } = makeSecret();
  const begin = { body: { redirect_uri: redirectUri, challenge } };
  const { body: begun } = await bench.call("/sign-in/begin", begin);
  const address = String(begun["authorization_url"]);
  const { url } = await signInAs(login, address, { stopAt: redirectUri });
  const body = { flow: begun["flow"], verifier, query: new URL(url).search };
  const { body: answer } = await bench.call("/sign-in/finish", { body });
  return { actor: answer["actor"], detail: answer["detail"], lines: bench.lines };
}

const linkOf = (name: string, email: string) => ({
  [`VEDETTE_CONTROL__OPERATORS__${name.toUpperCase()}__SIGN_IN`]: email,
});

it("an account keeps its first name under another address", async () => {
  people["ada"] = verified("ada@example.com");
  const first = await signIn("ada");
  people["ada"] = verified("ada.b@example.com");

  const second = await signIn("ada");

  expect([first.actor, second.actor]).toEqual(["ada@example.com", "ada@example.com"]);
});

it("an address that another account had first needs a link, after which the name is the link's", async () => {
  people["ben"] = verified("ben@example.com");
  await signIn("ben");
  people["ben-again"] = verified("ben@example.com");

  const refused = await signIn("ben-again");
  const linked = await signIn("ben-again", linkOf("ben@example.com", "ben@example.com"));
  const afterwards = await signIn("ben-again");

  expect(refused.detail).toMatch(/^ben@example\.com is the name of another account .*sign_in of/);
  expect(refused.lines).toContainEqual(
    expect.objectContaining({
      message: "sign-in refused",
      code: "name_taken",
      subject: "ben-again",
    }),
  );
  expect([linked.actor, afterwards.actor]).toEqual(["ben@example.com", "ben@example.com"]);
});

it("a linked operator who changes the address has no second name", async () => {
  people["cem"] = verified("cem@example.com");
  const link = linkOf("cem", "cem@example.com");
  const linked = await signIn("cem", link);
  people["cem"] = verified("cem2@example.com");

  const refused = await signIn("cem", link);

  expect(linked.actor).toBe("cem");
  expect(refused.detail).toContain("set sign_in of control.operators.cem.");
});

it("who has no role takes no name", async () => {
  people["dora"] = { ...verified("dora@example.com"), groups: [] };
  await signIn("dora");
  people["other-dora"] = verified("dora@example.com");

  expect((await signIn("other-dora")).actor).toBe("dora@example.com");
});

const account = (subject: string) => ({ issuer: "https://login.example.com/", subject });

const inTwoProcesses = (): [Names, Names] => [
  createNames(database(), log),
  createNames(database(), log),
];

it("of many accounts that take one name at once, one has it", async () => {
  const [one, other] = inTwoProcesses();
  const takes = Array.from({ length: 20 }, (_, n) =>
    (n % 2 === 0 ? one : other).take(account(`many-${n}`), "many"),
  );

  const taken = (await Promise.all(takes)).filter((name) => name !== undefined);

  expect(taken).toEqual(["many"]);
});

it("of many names that one account takes at once, it has one", async () => {
  const [one, other] = inTwoProcesses();
  const takes = Array.from({ length: 20 }, (_, n) =>
    (n % 2 === 0 ? one : other).take(account("single"), `single-${n}`),
  );

  const taken = new Set(await Promise.all(takes));

  expect([...taken]).toEqual([await one.find(account("single"))]);
});

it("keeps the names of each provider apart, and when an account signed in first and last", async () => {
  const [names] = inTwoProcesses();
  await names.take(account("eve"), "eve");
  const elsewhere = await names.take({ issuer: "https://other.example", subject: "x" }, "eve");
  await names.take(account("eve"), "eve");

  const { rows } = await database().query(
    "SELECT last_at > first_at AS is_later FROM sign_in_names WHERE subject = 'eve'",
  );

  expect(elsewhere).toBe("eve");
  expect(rows).toEqual([{ is_later: true }]);
});
