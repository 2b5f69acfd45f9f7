/** Files with the roots of several instances. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { sigstoreConfig } from "#ci/sigstore/config.ts";
import { createSigstore } from "#ci/sigstore/sigstore.ts";
import { attach, createSigner, release } from "../../support/ci/signer.ts";
import { subject } from "../../support/ci/sigstore-bench.ts";
import { tempDir } from "../../support/temp-dir.ts";

async function checkWith(write: (roots: object[]) => string) {
  const signers = [await createSigner(), await createSigner()];
  const folder = tempDir();
  const file = path.join(folder, "trusted_root.jsonl");
  writeFileSync(file, write(signers.map(({ trustedRoot }) => trustedRoot)));
  const settings = sigstoreConfig.parse({ identities: { release }, trusted_root: file });
  const sigstore = createSigstore(settings, { cacheDir: folder });
  const results: string[] = [];
  for (const signer of signers) {
    const bundle = await signer.signStatement({ digest: subject.digest });
    results.push((await sigstore.checkSignature(subject, [attach(bundle)])).result);
  }
  return results;
}

it("one root a line, as gh prints them: signers of each are trusted", async () => {
  const write = (roots: object[]) => `${roots.map((root) => JSON.stringify(root)).join("\n")}\n`;

  expect(await checkWith(write)).toEqual(["passed", "passed"]);
});

it("one root over many lines", async () => {
  const write = ([root]: object[]) => JSON.stringify(root, null, 2);

  expect(await checkWith(write)).toEqual(["passed", "unverifiable"]);
});

it("a line that is no root ends the start", async () => {
  const write = ([root]: object[]) => `${JSON.stringify(root)}\n{"mediaType":"text/plain"}\n`;

  await expect(checkWith(write)).rejects.toThrow("is not a trusted root of Sigstore as JSON");
});
