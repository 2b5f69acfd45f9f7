/** Who may sign: the identities of the settings, compared with the whole name in the certificate. */
import { expect, it } from "vitest";
import { attach, createSigner, release } from "../../support/ci/signer.ts";
import { createBench, subject } from "../../support/ci/sigstore-bench.ts";

const signer = await createSigner();
const { digest } = subject;

/** The answer when `name` has signed, and these may. */
async function check(
  name: { subject?: string; issuer?: string },
  allowed: { subject: string; issuer: string } = release,
) {
  const bundle = await signer.signStatement({ digest }, name);
  const bench = createBench(signer.trustedRoot, { identities: { allowed } });
  return bench.checkSignature(attach(bundle));
}

it("another workflow may not, and the answer says who it was", async () => {
  const subject = "https://github.com/evil/gw/.github/workflows/release.yml@refs/heads/main";

  const finding = await check({ subject });

  expect(finding.result).toBe("unverifiable");
  expect(finding.detail).toContain(`its signer is not allowed: ${subject}`);
});

it.each([
  `https://evil.test/?${release.subject}`,
  `${release.subject}-2`,
  `https://evil.test/${release.subject}.yml`,
])("%s only contains the allowed subject", async (subject) => {
  const { result } = await check({ subject });

  expect(result).toBe("unverifiable");
});

it("a dot in an allowed subject is a dot", async () => {
  const { result } = await check({
    subject: release.subject.replace("release.yml", "releaseXyml"),
  });

  expect(result).toBe("unverifiable");
});

it("another issuer may not vouch for the same subject", async () => {
  const finding = await check({ issuer: "https://accounts.evil.test" });

  expect(finding.result).toBe("unverifiable");
  expect(finding.detail).toContain("issuer https://accounts.evil.test");
});

it("the issuer is compared as a whole", async () => {
  const { result } = await check({ issuer: `${release.issuer}/evil` });

  expect(result).toBe("unverifiable");
});

it("an asterisk stands for any characters", async () => {
  const subject = "https://github.com/acme/*/.github/workflows/release.yml@refs/tags/v*";

  const { result } = await check(
    { subject: "https://github.com/acme/gw/.github/workflows/release.yml@refs/tags/v1.2" },
    { ...release, subject },
  );

  expect(result).toBe("passed");
});

it("an asterisk allows nothing before the rest", async () => {
  const { result } = await check(
    { subject: "https://evil.test/https://github.com/acme/gw" },
    { ...release, subject: "https://github.com/acme/*" },
  );

  expect(result).toBe("unverifiable");
});

it("without identities no certificate counts", async () => {
  const bundle = await signer.signStatement({ digest });
  const bench = createBench(signer.trustedRoot, { identities: {} });

  const { result } = await bench.checkSignature(attach(bundle));

  expect(result).toBe("unverifiable");
});
