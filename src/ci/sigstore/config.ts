import { z } from "zod";
import type { CiKind } from "#ci/contract.ts";
import { flag, optionalText, optionalUrl, textList } from "#kernel/setting.ts";

/** `cosign sign` writes this type since its version 3. */
const cosignSignature = "https://sigstore.dev/cosign/sign/v1";

/** https://slsa.dev/spec/v1.0/provenance and https://slsa.dev/spec/v0.2/provenance */
export const slsaProvenance = "https://slsa.dev/provenance/v1";
export const slsaProvenance02 = "https://slsa.dev/provenance/v0.2";

/** `issuer`: who vouched for the signer, such as https://token.actions.githubusercontent.com; `subject` may have `*`. */
const Identity = z.strictObject({
  issuer: z.string().trim().min(1),
  subject: z
    .string()
    .trim()
    .min(1)
    .refine((subject) => /[^*]/.test(subject), {
      error: "would be everybody; write at least a host, such as https://github.com/acme/*",
    }),
});

export const sigstoreConfig = z
  .strictObject({
    identities: z
      .record(z.string(), Identity)
      .default({})
      .describe(
        "Signers with certificates by name, each with `issuer` and `subject` (also with `*`)",
      ),
    public_keys: textList().describe("PEM files of signers without certificates"),
    trusted_root: optionalText().describe("A file with whom to trust; empty: fetched by TUF"),
    tuf_url: optionalUrl().describe(
      "A private instance's TUF repository; empty: Sigstore's public one",
    ),
    tuf_root: optionalText().describe("The file of its root"),
    transparency_log: flag().default(true).describe("false: a signature needs no entry in a log"),
    builders: textList().describe("Builders that provenance may name, also with `*`"),
    sources: textList()
      .refine((all) => all.every((one) => !/[@#]/.test(one)), {
        error:
          "must be repositories without @ and #: the ref from which an image was built does not count",
      })
      .describe("Repositories that provenance may name, also with `*`"),
    predicates: textList()
      .default([cosignSignature, slsaProvenance, slsaProvenance02])
      .describe("Statements that count as a signature"),
  })
  .refine(({ tuf_url, tuf_root }) => (tuf_url === "") === (tuf_root === ""), {
    error: "tuf_url and tuf_root belong together: a private repository and the root to trust it by",
    path: ["tuf_root"],
  })
  .refine(({ trusted_root, tuf_url }) => trusted_root === "" || tuf_url === "", {
    error: "is not read when there is a tuf_url; leave one of them out",
    path: ["trusted_root"],
  })
  .prefault({});
export type SigstoreConfig = z.infer<typeof sigstoreConfig>;

/** Why no image could ever have this kind of evidence with these settings. undefined: it could. */
export function findGap(
  kind: Extract<CiKind, "signature" | "provenance">,
  settings: SigstoreConfig,
): string | undefined {
  const { identities, public_keys, builders, sources } = settings;
  if (Object.keys(identities).length === 0 && public_keys.length === 0) {
    return `${kind} needs ci.sigstore.identities or ci.sigstore.public_keys: nobody may sign so far`;
  }
  if (kind === "signature") return undefined;
  if (builders.length === 0) return "provenance needs ci.sigstore.builders: none is allowed so far";
  if (sources.length === 0) return "provenance needs ci.sigstore.sources: none is allowed so far";
  return undefined;
}
