/** The check of an image's attachments, which trusts a signer of the tests. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import type { z } from "zod";
import type { Attachment, Subject } from "#ci/finding.ts";
import { sigstoreConfig } from "#ci/sigstore/config.ts";
import { createSigstore } from "#ci/sigstore/sigstore.ts";
import { tempDir } from "../temp-dir.ts";
import { sha256 } from "./log-body.ts";
import { release } from "./signer.ts";

export const manifest = Buffer.from('{"schemaVersion":2}');

export const subject: Subject = { digest: `sha256:${sha256(manifest).toString("hex")}`, manifest };

export const otherDigest = `sha256:${"0".repeat(64)}`;

type Settings = z.input<typeof sigstoreConfig>;

/** The workflow of `release` may sign, unless the settings say otherwise. */
export function createBench(trustedRoot: object, settings: Settings = {}) {
  const folder = tempDir();
  const file = path.join(folder, "trusted_root.json");
  writeFileSync(file, JSON.stringify(trustedRoot));
  const parsed = sigstoreConfig.parse({
    identities: { release },
    trusted_root: file,
    builders: ["https://builder.test/*"],
    sources: ["https://github.com/acme/*"],
    ...settings,
  });
  const sigstore = createSigstore(parsed, { cacheDir: path.join(folder, "cache") });
  return {
    checkSignature: (...attachments: Attachment[]) => sigstore.checkSignature(subject, attachments),
    checkProvenance: (...attachments: Attachment[]) =>
      sigstore.checkProvenance(subject, attachments),
  };
}
