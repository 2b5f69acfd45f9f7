/** Statements about how an image was built, in both versions of SLSA. */
import { expect, it } from "vitest";
import { slsaProvenance, slsaProvenance02 } from "#ci/sigstore/config.ts";
import { readProvenance } from "#ci/sigstore/grade.ts";
import {
  attach,
  createSigner,
  release,
  type SignOptions,
  simpleSigningOf,
} from "../../support/ci/signer.ts";
import { createBench, otherDigest, subject } from "../../support/ci/sigstore-bench.ts";

const signer = await createSigner();
const { trustedRoot } = signer;
const { digest } = subject;

const run = "https://github.com/acme/gw/actions/runs/1/attempts/1";

function describeBuild({ builder = "https://builder.test/hosted", source = "" } = {}) {
  return {
    buildDefinition: {
      buildType: "https://builder.test/workflow/v1",
      externalParameters: { workflow: { repository: source || "https://github.com/acme/gw" } },
    },
    runDetails: { builder: { id: builder }, metadata: { invocationId: run } },
  };
}

/** The answer to provenance of version 1. */
async function check(predicate: unknown, options: SignOptions = {}) {
  const statement = { digest, predicateType: slsaProvenance, predicate };
  const bundle = await signer.signStatement(statement, options);
  return createBench(trustedRoot).checkProvenance(attach(bundle));
}

it("the finding names builder, source and signer, and links to the run", async () => {
  expect(await check(describeBuild())).toEqual({
    result: "passed",
    detail: `built by https://builder.test/hosted from https://github.com/acme/gw, signed by ${release.subject} (issuer ${release.issuer})`,
    url: run,
  });
});

it.each(["http://a.test/1", "javascript:alert(1)", "https://u:p@a.test/", "1-1"])(
  "the run %s is no link: that is the source",
  async (invocationId) => {
    const { runDetails, ...build } = describeBuild();
    const details = { ...runDetails, metadata: { invocationId } };

    const { url } = await check({ ...build, runDetails: details });

    expect(url).toBe("https://github.com/acme/gw");
  },
);

it("another builder proves nothing", async () => {
  const finding = await check(describeBuild({ builder: "https://laptop.test/" }));

  expect(finding).toMatchObject({
    result: "unverifiable",
    detail: expect.stringContaining("the builder https://laptop.test/ is not allowed"),
  });
});

it("another source proves nothing", async () => {
  const finding = await check(describeBuild({ source: "https://github.com/evil/gw" }));

  expect(finding).toMatchObject({
    result: "unverifiable",
    detail: expect.stringContaining("the source https://github.com/evil/gw is not allowed"),
  });
});

it("a source that climbs out of an allowed path proves nothing", async () => {
  const { result } = await check(describeBuild({ source: "https://github.com/acme/../evil/gw" }));

  expect(result).toBe("unverifiable");
});

it("another signer proves nothing", async () => {
  const finding = await check(describeBuild(), { subject: "https://github.com/evil" });

  expect(finding).toMatchObject({
    result: "unverifiable",
    detail: expect.stringContaining("its signer is not allowed"),
  });
});

it("of another image it proves nothing", async () => {
  const statement = { predicateType: slsaProvenance, predicate: describeBuild() };
  const bundle = await signer.signStatement({ digest: otherDigest, ...statement });

  const { result } = await createBench(trustedRoot).checkProvenance(attach(bundle));

  expect(result).toBe("unverifiable");
});

it.each([{}, [], "text", null])("a predicate that is %j proves nothing", async (predicate) => {
  const { result } = await check(predicate);

  expect(result).toBe("unverifiable");
});

it("an image with signatures only has none", async () => {
  const bundle = attach(await signer.signStatement({ digest }));
  const layer = await signer.signSimpleSigning(simpleSigningOf(digest));

  const finding = await createBench(trustedRoot).checkProvenance(bundle, layer);

  expect(finding.result).toBe("missing");
});

it("provenance is a signature as well", async () => {
  const statement = { digest, predicateType: slsaProvenance, predicate: describeBuild() };
  const bundle = await signer.signStatement(statement);

  const { result } = await createBench(trustedRoot).checkSignature(attach(bundle));

  expect(result).toBe("passed");
});

it("version 0.2 passes, with the source as the link when the run has no address", async () => {
  const predicate = {
    builder: { id: "https://builder.test/hosted" },
    invocation: { configSource: { uri: "git+https://github.com/acme/gw@refs/heads/main" } },
    metadata: { buildInvocationId: "1-1" },
  };
  const statement = { digest, predicateType: slsaProvenance02, predicate };
  const layer = await signer.signStatementLayer({ ...statement, version: "v0.1" });

  const finding = await createBench(trustedRoot).checkProvenance(layer);

  expect(finding).toMatchObject({ result: "passed", url: "https://github.com/acme/gw" });
});

it.each([
  [{ source: { uri: "a" }, workflow: { repository: "b" } }, "a"],
  [{ source: { uri: 1 }, workflow: { repository: "b" } }, "b"],
  [{ source: "a" }, "c"],
  [undefined, "c"],
])("in version 1 the source of %j is %s", (externalParameters, source) => {
  const buildDefinition = {
    externalParameters,
    resolvedDependencies: [{ uri: "c" }, { uri: "d" }],
  };

  const read = readProvenance(slsaProvenance, {
    buildDefinition,
    runDetails: { builder: { id: "x" } },
  });

  expect(read.source).toBe(source);
});

it("in version 0.2 the first material is the source if there is no other", () => {
  const read = readProvenance(slsaProvenance02, {
    builder: { id: "x" },
    materials: [{ uri: "a" }, { uri: "b" }],
  });

  expect(read.source).toBe("a");
});
