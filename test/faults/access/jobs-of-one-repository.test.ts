/** Jobs of CI that call by two rows, or by tokens that say the same in other forms: one repository approves nothing of its own. */
import { randomUUID } from "node:crypto";
import type { JWTPayload } from "jose";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { audience, type CiIssuer, startCiIssuer } from "../../support/ci/ci-issuer.ts";
import { rolloutPath, startJobBench } from "../../support/ci/job-bench.ts";

let ci: CiIssuer;

beforeAll(async () => {
  ci = await startCiIssuer();
});
afterAll(() => ci.stop());

const rowOf = (over: object = {}) => ({
  ...{ name: "github:acme/shop", issuer: ci.issuer, audience, repository_id: "4711", ref: "main" },
  ...over,
});

/** A second row of the same repository, by claims alone. */
const byClaims = (over: object = {}) => ({
  ...{ name: "approvers", preset: "other", issuer: ci.issuer, audience },
  ...{ claims: { environment: "approve" }, roles: ["approve"] },
  ...over,
});

async function start(rows: readonly object[]) {
  const bench = await startJobBench({ rows });
  onTestFinished(() => bench.stop());
  return bench;
}

/** The accounts of a job's calls, as the worker compares them. */
async function accountsOf(bench: Awaited<ReturnType<typeof start>>, claims: object) {
  const { body } = await bench.exchange(await ci.sign({ jti: randomUUID(), ...claims }));
  const [path, given] = String(body["roles"]).includes("approve")
    ? [rolloutPath.replace(/Rollout$/, "Approve"), {}]
    : [rolloutPath, { image: "registry.example.com/a:v1" }];
  expect(await bench.call(path, String(body["token"]), given)).toMatchObject({ status: 200 });
  return bench.actors.at(-1)?.accounts ?? [];
}

it("a job by a row of claims is of the account of its repository's other row", async () => {
  const bench = await start([rowOf(), byClaims()]);

  const starter = await accountsOf(bench, {});
  const approver = await accountsOf(bench, { environment: "approve", ref: "refs/heads/other" });

  expect(starter).not.toEqual([]);
  expect(approver.filter((one) => starter.includes(one))).not.toEqual([]);
});

it("a row whose issuer ends in a slash is of the same account", async () => {
  const bench = await start([
    rowOf(),
    rowOf({
      name: "approvers",
      issuer: `${ci.issuer}/`,
      environment: "approve",
      roles: ["approve"],
    }),
  ]);
  const alone = await start([
    rowOf({ issuer: `${ci.issuer}/`, environment: "approve", roles: ["approve"] }),
  ]);

  const starter = await accountsOf(bench, { environment: "production" });

  expect(await accountsOf(alone, { environment: "approve" })).toEqual(starter);
});

it.each<[what: string, claims: JWTPayload]>([
  ["a list with the id", { repository_id: ["4711"] }],
  ["an object that is written as the id", { repository_id: { toString: "4711" } }],
  [
    "another repository's id and name in a list with the right one",
    { repository_id: ["9", "4711"] },
  ],
  ["the id with a blank", { repository_id: "4711 " }],
  ["the id as another number", { repository_id: 4711.5 }],
  ["a list of refs", { ref: ["refs/heads/main"] }],
  ["a ref below the branch", { ref: "refs/heads/main/../evil" }],
  ["an audience that contains ours", { aud: `${audience}.evil.example` }],
  ["an audience with a slash more", { aud: `${audience}/` }],
  ["an issuer of another host", { iss: "https://token.example.com" }],
  ["an end beyond its age", { iat: Math.floor(Date.now() / 1_000) - 90_000 }],
  ["no end", { exp: undefined as never }],
])("a token of the issuer is refused that has %s", async (_, claims) => {
  const bench = await start([rowOf()]);

  const { status } = await bench.exchange(await ci.sign(claims));

  expect([401, 403]).toContain(status);
});
