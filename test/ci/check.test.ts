import { describe, expect, it } from "vitest";
import type { CiResult } from "#ci/contract.ts";
import { CiTrouble, type Finding } from "#ci/finding.ts";
import { createCheckCi, type ImageChecks } from "#ci/image-checks.ts";
import { createLog } from "#kernel/log.ts";
import { refuse } from "#registry/image-name.ts";

const image = "registry.example.com/acme/sentinel:v2@sha256:ab";

const log = createLog({ level: "silent", format: "json" });

const unused = async (): Promise<Finding> => {
  throw new Error("nobody asked for this kind");
};

const checkLabel = (label: () => Promise<Finding>, allow: CiResult[] = []) => {
  const checks: ImageChecks = { commit: unused, signature: unused, provenance: unused, label };
  return createCheckCi({ required: ["label"], allow, checksOf: () => checks, log })(image);
};

const found = (finding: Finding) => async () => finding;

describe("createCheckCi", () => {
  it("asks for the kinds that are required, and for no others", async () => {
    const evidence = await checkLabel(found({ result: "passed", detail: "it is there" }));

    expect(evidence).toEqual([
      { kind: "label", result: "passed", passes: true, detail: "it is there" },
    ]);
  });

  it.each(["failed", "pending", "missing", "unverifiable", "unavailable"] as const)(
    "lets nothing pass that is %s, unless the settings do",
    async (result) => {
      const [evidence] = await checkLabel(found({ result, detail: "" }));

      expect(evidence?.passes).toBe(false);
    },
  );

  it("masks a secret in what a service has answered", async () => {
    const [evidence] = await checkLabel(found({ result: "failed", detail: "no vds_abcdefghijkl" }));

    expect(evidence?.detail).toBe("no ***");
  });

  it("lets pass what the settings let pass, and nothing else", async () => {
    const [missing] = await checkLabel(found({ result: "missing", detail: "" }), ["missing"]);
    const [failed] = await checkLabel(found({ result: "failed", detail: "" }), ["missing"]);

    expect(missing).toMatchObject({ result: "missing", passes: true });
    expect(failed).toMatchObject({ result: "failed", passes: false });
  });

  it.each([new CiTrouble("github.example does not answer"), refuse("registry_auth", "no access")])(
    "says why somebody could not be asked: %s",
    async (error) => {
      const [evidence] = await checkLabel(() => Promise.reject(error));

      expect(evidence).toMatchObject({ result: "unavailable", detail: error.message });
    },
  );

  it.each([refuse("image_unreadable", "31 platforms"), refuse("image_not_found", "gone")])(
    "takes an image that cannot be read for unproven, not for somebody who is away: %s",
    async (error) => {
      const [evidence] = await checkLabel(() => Promise.reject(error), ["unavailable"]);

      expect(evidence).toMatchObject({ result: "unverifiable", passes: false });
    },
  );

  it("shows nothing of an error of ours", async () => {
    const [evidence] = await checkLabel(() => Promise.reject(new TypeError("x is secret")));

    expect(evidence).toMatchObject({ result: "unavailable", passes: false });
    expect(evidence?.detail).not.toContain("secret");
  });

  it("bounds and cleans what others have said", async () => {
    const [evidence] = await checkLabel(
      found({ result: "failed", detail: `\u001b[2J${"x".repeat(5_000)}` }),
    );

    expect(evidence?.detail).toBe("x".repeat(500));
  });

  it.each(["javascript:alert(1)", "no address", `https://example.com/${"x".repeat(400)}`, ""])(
    "gives a browser no address such as %j",
    async (url) => {
      const [evidence] = await checkLabel(found({ result: "passed", detail: "", url }));

      expect(evidence).not.toHaveProperty("url");
    },
  );
});
