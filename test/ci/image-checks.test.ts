import { expect, it } from "vitest";
import { ciConfig } from "#ci/config.ts";
import type { Finding } from "#ci/finding.ts";
import { createImageChecks, type ImageSources } from "#ci/image-checks.ts";

const image = `registry.example.com/acme/sentinel:v2@sha256:${"ab".repeat(32)}`;

const settings = ciConfig.ci.parse({ labels: { tests: "passed" } });

const unused = async () => {
  throw new Error("nobody asked for this");
};

type Attached = Awaited<ReturnType<ImageSources["readAttachments"]>>;

const nothing: Attached = {
  manifest: Buffer.from("{}"),
  attachments: [],
  omitted: 0,
  troubles: [],
};

/** The judges have this to say of attachments; `reads` counts how often those were read. */
function checksOf(attached: Attached, finding: Finding) {
  const reads = { count: 0 };
  const checks = createImageChecks(settings, {
    readLabels: async () => new Map([["tests", "passed"]]),
    readAttachments: async () => {
      reads.count += 1;
      return attached;
    },
    commits: { readStatuses: unused, isOnBranch: unused },
    signatures: { checkSignature: async () => finding, checkProvenance: async () => finding },
  })(image, AbortSignal.timeout(60_000));
  return { checks, reads };
}

const missing: Finding = { result: "missing", detail: "no signature is attached" };
const passed: Finding = { result: "passed", detail: "signed" };

it("what was not looked at may be what is missing: that is not the same as nothing", async () => {
  const { checks } = checksOf({ ...nothing, omitted: 3 }, missing);

  expect(await checks.signature()).toMatchObject({
    result: "unverifiable",
    detail: expect.stringContaining("3 attached are too many, too large or gone"),
  });
});

it("what could not be read now may be what is missing: nobody knows", async () => {
  const { checks } = checksOf({ ...nothing, troubles: ["status 503 from reg"] }, missing);

  await expect(checks.provenance()).rejects.toThrow("status 503 from reg");
});

it("what others have attached stops nothing that passes", async () => {
  const { checks } = checksOf({ ...nothing, omitted: 3, troubles: ["status 503"] }, passed);

  expect(await checks.signature()).toEqual(passed);
});

it("attachments are read once for both kinds", async () => {
  const { checks, reads } = checksOf(nothing, passed);

  await Promise.all([checks.signature(), checks.provenance()]);

  expect(reads.count).toBe(1);
});

it("labels are those of the settings", async () => {
  const { checks } = checksOf(nothing, passed);

  expect(await checks.label()).toMatchObject({ result: "passed" });
});
