import { expect, it, onTestFinished } from "vitest";
import { createChallengeServer } from "#api/tls/acme.ts";
import { createLog } from "#kernel/log.ts";
import { prepareCertificates } from "../../../support/http/certificates.ts";
import { prepareDatabase } from "../../../support/run/prepare-database.ts";

const { database } = prepareDatabase();

it("answers what was asked to be proven, to the octet", async () => {
  const { store, challengesAt } = await prepareCertificates(database());
  await store.addChallenge("a-token_1", "a-token_1.thumbprint");

  const answer = await fetch(`${challengesAt}/.well-known/acme-challenge/a-token_1`);

  expect(answer.status).toBe(200);
  expect(await answer.text()).toBe("a-token_1.thumbprint");
});

it.each([
  "/.well-known/acme-challenge/unknown",
  "/.well-known/acme-challenge/%00",
  "/.well-known/acme-challenge/..%2f..%2fetc%2fpasswd",
  `/.well-known/acme-challenge/${"a".repeat(300)}`,
  "/.well-known/acme-challenge/",
  "/v2/liveness",
  "/",
])("answers 404 to %s", async (path) => {
  const { challengesAt } = await prepareCertificates(database());

  expect((await fetch(challengesAt + path)).status).toBe(404);
});

it("answers 400 to an address that cannot be decoded", async () => {
  const { challengesAt } = await prepareCertificates(database());

  expect((await fetch(`${challengesAt}/.well-known/acme-challenge/%zz`)).status).toBe(400);
});

it("tells nobody what is wrong inside", async () => {
  const readChallenge = () => Promise.reject(new Error("password of database wrong"));
  const log = createLog({ level: "silent", format: "json" });
  const app = createChallengeServer({ store: { readChallenge }, log });

  const answer = await app.inject("/.well-known/acme-challenge/token");

  expect(answer.statusCode).toBe(503);
  expect(answer.body).toBe("503 not available now\n");
});

it("asks Postgres two questions at once for strangers, and tells too many of them to come later", async () => {
  const gate = Promise.withResolvers<undefined>();
  let asked = 0;
  const readChallenge = () => {
    asked += 1;
    return gate.promise;
  };
  const log = createLog({ level: "silent", format: "json" });
  const challenges = createChallengeServer({ store: { readChallenge }, log });
  onTestFinished(() => challenges.close());
  const ask = () => challenges.inject("/.well-known/acme-challenge/a-token");

  const answers = Array.from({ length: 2_050 }, ask);
  const refused = await Promise.any(answers);
  const askedMeanwhile = asked;
  gate.resolve(undefined);
  const statuses = (await Promise.all(answers)).map(({ statusCode }) => statusCode);

  expect(refused.statusCode).toBe(503);
  expect(askedMeanwhile).toBe(2);
  expect(statuses.filter((status) => status === 404)).toHaveLength(2_002);
});
