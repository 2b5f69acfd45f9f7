/** The sessions of CI jobs: what they may, in whose name, for how long, and once over all processes. */
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { createUsedTokens } from "#control/ci-trust/used-tokens.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { audience, type CiIssuer, startCiIssuer } from "../../../support/ci/ci-issuer.ts";
import { rolloutPath, startJobBench } from "../../../support/ci/job-bench.ts";
import { freePort } from "../../../support/free-port.ts";
import { prepareDatabase } from "../../../support/run/prepare-database.ts";

const { database, url } = prepareDatabase();
const log = createLog({ level: "silent", format: "json" });

let ci: CiIssuer;

beforeAll(async () => {
  ci = await startCiIssuer();
});
afterAll(() => ci.stop());

const rowOf = (over: object = {}) => ({
  name: "github:acme/shop",
  issuer: ci.issuer,
  audience,
  repository_id: "4711",
  ref: "main",
  ...over,
});

async function start(options: Partial<Parameters<typeof startJobBench>[0]> = {}) {
  const bench = await startJobBench({ rows: [rowOf()], ...options });
  onTestFinished(() => bench.stop());
  return bench;
}

const request = { image: "registry.example.com/a:v1" };

it("a job calls in the name of its row, and Restate gets repository, workflow, run and commit", async () => {
  const bench = await start();
  const { body } = await bench.exchange(await ci.sign());

  const { status } = await bench.call(rolloutPath, String(body["token"]), request);

  expect(status).toBe(200);
  expect(bench.actors).toEqual([
    {
      by: "ci:github:acme/shop",
      isSigned: true,
      accounts: [expect.stringMatching(/^row:ci-[\w-]{43}$/)],
      ciRun: {
        repository: "acme/shop",
        workflow: ".github/workflows/rollout.yml",
        ref: "refs/heads/main",
        run: "42",
        commit: "1a2b3c4d5e6f7a8b9c0d1a2b3c4d5e6f7a8b9c0d",
        person: "ada",
      },
    },
  ]);
});

it("jobs of rows that name no repository are one account, as they may be of one", async () => {
  const rowOfClaim = (name: string, sub: string) => ({
    ...{ name, preset: "other", issuer: ci.issuer, audience, claims: { sub } },
  });
  const bench = await start({ rows: [rowOfClaim("one", "a"), rowOfClaim("two", "b")] });
  for (const sub of ["a", "b"]) {
    const { body } = await bench.exchange(await ci.sign({ sub, repository_id: sub }));
    await bench.call(rolloutPath, String(body["token"]), request);
  }

  expect(bench.actors.map(({ by }) => by)).toEqual(["ci:one", "ci:two"]);
  const [one = [], two = []] = bench.actors.map(({ accounts }) => accounts);
  expect(two.filter((account) => one.includes(account))).toHaveLength(1);
});

it("a job may do no more than its row says", async () => {
  const bench = await start();
  const { body } = await bench.exchange(await ci.sign());

  const { status, body: refusal } = await bench.call(
    "/vedette.v1.SentinelRolloutService/singleton/Approve",
    String(body["token"]),
    {},
  );

  expect(status).toBe(403);
  expect(refusal["detail"]).toBe(
    "ci:github:acme/shop may operate; this call takes approve (control.ci_trust)",
  );
});

it("a session ends with its token, and after an hour at the latest", async () => {
  const bench = await start();
  const now = Math.floor(Date.now() / 1_000);
  const ends = async (exp: number) => {
    const { body } = await bench.exchange(await ci.sign({ exp }));
    return Date.parse(String(body["ends_at"])) / 1_000;
  };

  expect(await ends(now + 300)).toBe(now + 300);
  expect(await ends(now + 80_000)).toBeLessThanOrEqual(now + 3_660);
});

it("a session ends when its row changes, in every process", async () => {
  const before = await start();
  const { body } = await before.exchange(await ci.sign());
  const other = await start();
  const changed = await start({ rows: [rowOf({ roles: ["read"] })] });
  const without = await start({ rows: [rowOf({ name: "another" })] });
  const call = (bench: typeof before) =>
    bench.call(rolloutPath, String(body["token"]), request).then(({ status }) => status);

  expect(await call(other)).toBe(200);
  expect(await call(changed)).toBe(401);
  expect(await call(without)).toBe(401);
});

it("a token counts once over all processes, also at the same moment", async () => {
  const second = openDatabase(url(), log);
  onTestFinished(() => second.end());
  const benches = [
    await start({ used: createUsedTokens(database(), log) }),
    await start({ used: createUsedTokens(second, log) }),
  ];
  for (let round = 0; round < 5; round += 1) {
    const token = await ci.sign();

    const answers = await Promise.all(benches.map((bench) => bench.exchange(token)));

    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401]);
    expect(answers.find(({ status }) => status === 401)?.body["code"]).toBe("token_used");
  }
});

it("no job is admitted while nobody knows which tokens were used", async () => {
  const away = openDatabase(`postgres://127.0.0.1:${await freePort()}/none`, log);
  onTestFinished(() => away.end());
  const bench = await start({ used: createUsedTokens(away, log) });

  const { status, body } = await bench.exchange(await ci.sign());

  expect(status).toBe(503);
  expect(body["detail"]).toContain("Postgres");
});

it("whoami says that a job has the session, and its end", async () => {
  const bench = await start();
  const { body } = await bench.exchange(await ci.sign());

  const answer = await fetch(`${bench.url}/sign-in/session`, {
    headers: { authorization: `Bearer ${body["token"]}` },
  });

  expect(await answer.json()).toMatchObject({
    actor: "ci:github:acme/shop",
    by: "ci",
    ends_at: body["ends_at"],
  });
});
