/** Tokens of CI jobs that `control` refuses, each with its reason; the issuer has real keys. */
import { createPublicKey, randomUUID } from "node:crypto";
import { exportSPKI, SignJWT, UnsecuredJWT } from "jose";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { createReach } from "#kernel/reach.ts";
import {
  audience,
  type CiIssuer,
  githubClaims,
  startCiIssuer,
} from "../../../support/ci/ci-issuer.ts";
import { rolloutPath, startJobBench } from "../../../support/ci/job-bench.ts";

let ci: CiIssuer;

beforeAll(async () => {
  ci = await startCiIssuer();
});
afterAll(() => ci.stop());
afterEach(() => void vi.useRealTimers());

const rowOf = (over: object = {}) => ({
  name: "github:acme/shop",
  issuer: ci.issuer,
  audience,
  repository_id: 4711,
  workflow: "rollout.yml",
  ref: "main",
  environment: "production",
  ...over,
});

async function start(row: object = rowOf(), others: readonly object[] = []) {
  const bench = await startJobBench({ rows: [row, ...others] });
  onTestFinished(() => bench.stop());
  return bench;
}

const unnumbered: Record<string, unknown> = { jti: undefined };

const seconds = () => Math.floor(Date.now() / 1_000);
const unsigned = () => ({
  ...githubClaims,
  ...{ iss: ci.issuer, aud: audience, iat: seconds(), exp: seconds() + 300, jti: randomUUID() },
});

it.each(["RS256", "ES256"] as const)(
  "control admits a job whose token is signed by %s",
  async (alg) => {
    const bench = await start();

    const { status, body } = await bench.exchange(await ci.sign({}, { alg }));

    expect(status).toBe(200);
    expect(body).toMatchObject({ actor: "ci:github:acme/shop", roles: ["operate"] });
    expect(body["token"]).toMatch(/^vds_/);
  },
);

describe("control refuses, and names the reason of, a token", () => {
  it.each<[string, string, object]>([
    ["of another repository with the same name", "wrong_repository", { repository_id: "4712" }],
    [
      "of a fork",
      "wrong_repository",
      {
        repository: "mallory/shop",
        repository_id: "99",
        sub: "repo:mallory/shop:ref:refs/heads/main",
      },
    ],
    [
      "of a pull request",
      "pull_request",
      { event_name: "pull_request", ref: "refs/pull/7/merge", head_ref: "evil" },
    ],
    [
      "of a pull request that runs on the branch itself",
      "pull_request",
      { event_name: "pull_request_target", head_ref: "evil" },
    ],
    ["of an event that strangers cause", "wrong_event", { event_name: "issue_comment" }],
    ["of another branch", "wrong_ref", { ref: "refs/heads/evil" }],
    ["of a tag with the branch's name", "wrong_ref", { ref: "refs/tags/main" }],
    ["of another environment", "wrong_environment", { environment: "staging" }],
    ["without an environment", "wrong_environment", { environment: undefined }],
    [
      "of another workflow",
      "wrong_workflow",
      { workflow_ref: "acme/shop/.github/workflows/test.yml@refs/heads/main" },
    ],
    [
      "of a workflow of another repository",
      "wrong_workflow",
      { workflow_ref: "mallory/shop/.github/workflows/rollout.yml@refs/heads/main" },
    ],
  ])("%s", async (_, code, claims) => {
    const bench = await start();

    const { status, body } = await bench.exchange(await ci.sign({ ...claims }));

    expect(status).toBe(403);
    expect(body["code"]).toBe(code);
    expect(body["detail"]).toMatch(/\w{5}/);
  });

  it.each<[string, string, object]>([
    ["for another audience", "wrong_audience", { aud: "https://github.com/acme" }],
    [
      "that has expired",
      "token_expired",
      { exp: 1_700_000_000, iat: 1_699_999_000, nbf: 1_699_999_000 },
    ],
    ["that is not valid yet", "token_not_yet_valid", { nbf: 4_000_000_000 }],
    ["that was issued in the future", "token_not_yet_valid", { iat: 4_000_000_000 }],
    ["without an end", "missing_claim", { exp: undefined }],
    ["of an issuer that no row has", "unknown_issuer", { iss: "https://ci.example.com" }],
  ])("%s", async (_, code, claims) => {
    const bench = await start();

    const { status, body } = await bench.exchange(await ci.sign({ ...claims }));

    expect(status).toBe(401);
    expect(body["code"]).toBe(code);
  });

  it("for another audience says which one, and what to do", async () => {
    const bench = await start();

    const { body } = await bench.exchange(await ci.sign({ aud: "https://github.com/acme" }));

    expect(body["detail"]).toContain("is for https://github.com/acme: ask for one with");
  });

  it("without a signature (alg: none)", async () => {
    const bench = await start();
    const token = new UnsecuredJWT(unsigned()).encode();

    const { status, body } = await bench.exchange(token);

    expect(status).toBe(401);
    expect(body["code"]).toBe("wrong_algorithm");
  });

  it("signed by HS256 with the public key as the secret", async () => {
    const bench = await start();
    const { key, kid } = ci.keys().RS256;
    const pem = await exportSPKI(createPublicKey(key));
    const token = await new SignJWT(unsigned())
      .setProtectedHeader({ alg: "HS256", kid })
      .sign(Buffer.from(pem));

    const { status, body } = await bench.exchange(token);

    expect(status).toBe(401);
    expect(body["code"]).toBe("wrong_algorithm");
  });

  it("by a key that the issuer does not have", async () => {
    const bench = await start();

    const { status, body } = await bench.exchange(await ci.sign({}, { kid: "strange" }));

    expect(status).toBe(401);
    expect(body["code"]).toBe("unknown_key");
  });

  it("by a key that passes itself off as the issuer's", async () => {
    const bench = await start();
    const other = await startCiIssuer();
    onTestFinished(() => other.stop());

    const { status, body } = await bench.exchange(
      await ci.sign({}, { key: other.keys().RS256.key }),
    );

    expect(status).toBe(401);
    expect(body["code"]).toBe("wrong_signature");
  });

  it("that was used", async () => {
    const bench = await start();
    const token = await ci.sign();
    await bench.exchange(token);

    const { status, body } = await bench.exchange(token);

    expect(status).toBe(401);
    expect(body["code"]).toBe("token_used");
  });

  it("that was used, and that its issuer has not numbered", async () => {
    const bench = await start();
    const token = await ci.sign({ ...unnumbered }, { alg: "ES256" });
    await bench.exchange(token);

    const { status, body } = await bench.exchange(token);

    expect(status).toBe(401);
    expect(body["code"]).toBe("token_used");
  });

  it.each([
    ["which is empty", ""],
    ["which is a word", "nonsense"],
    ["whose parts are none", "a.b.c"],
    ["which is long", "x".repeat(10_000)],
  ])("that is none, %s", async (_, token) => {
    const bench = await start();

    const { status, body } = await bench.exchange(token);

    expect(status).toBe(401);
    expect(body["code"]).toBe("malformed_token");
  });

  it("when it comes in place of a session", async () => {
    const bench = await start();

    const { status } = await bench.call(rolloutPath, await ci.sign(), { image: "a:v1" });

    expect(status).toBe(401);
    expect(bench.actors).toEqual([]);
  });
});

it("a refusal does not say what would have been trusted, and is a line in the log", async () => {
  const bench = await start(rowOf({ ref: "release-4711" }));

  const { body } = await bench.exchange(await ci.sign());

  expect(JSON.stringify(body)).not.toContain("release-4711");
  expect(bench.lines).toContainEqual(
    expect.objectContaining({ code: "wrong_ref", message: "ci job refused" }),
  );
});

it("keys that the issuer has replaced are found, and the old ones refused, within a minute", async () => {
  const own = await startCiIssuer();
  onTestFinished(() => own.stop());
  const bench = await start(rowOf({ issuer: own.issuer }));
  vi.useFakeTimers({ toFake: ["Date"] });
  expect((await bench.exchange(await own.sign())).status).toBe(200);
  const old = own.keys().RS256;
  own.rotate();
  vi.setSystemTime(Date.now() + 11_000);
  const first = await bench.exchange(await own.sign());
  vi.setSystemTime(Date.now() + 60_000);

  const late = await bench.exchange(await own.sign({}, old));

  expect(first.status).toBe(200);
  expect(late.body["code"]).toBe("unknown_key");
});

it("unknown keys do not make control ask the issuer each time", async () => {
  const own = await startCiIssuer();
  onTestFinished(() => own.stop());
  const bench = await start(rowOf({ issuer: own.issuer }));

  for (let i = 0; i < 20; i += 1) await bench.exchange(await own.sign({}, { kid: `k-${i}` }));

  expect(own.paths.filter((path) => path.startsWith("/jwks"))).toHaveLength(1);
});

it("control says that an issuer is away, and admits the same token once it is back", async () => {
  const own = await startCiIssuer();
  const bench = await start(rowOf({ issuer: own.issuer }));
  const token = await own.sign();
  await own.stop();

  const { status, body } = await bench.exchange(token);

  expect(status).toBe(503);
  expect(body["code"]).toBe("issuer_unavailable");
});

it("an issuer leads to no service of ours", async () => {
  const own = await startCiIssuer();
  onTestFinished(() => own.stop());
  const { port } = new URL(own.issuer);
  const services = [{ name: "Restate", host: "127.0.0.1", port: Number(port) }];
  const reach = createReach({ services });
  const bench = await startJobBench({ rows: [rowOf({ issuer: own.issuer })], reach });
  onTestFinished(() => bench.stop());

  const { status, body } = await bench.exchange(await own.sign());

  expect(status).toBe(503);
  expect(body["detail"]).toContain("to which we do not connect");
  expect(own.paths).toEqual([]);
});
