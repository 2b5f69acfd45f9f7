/** Sigstore's own library, loaded when the first image is checked: neither a start nor `--help` waits for it. */

export type Library = Awaited<ReturnType<typeof loadLibrary>>;

export async function loadLibrary() {
  const [{ bundleFromJSON }, { toSignedEntity, toTrustMaterial, Verifier }, { TrustedRoot }] =
    await Promise.all([
      import("@sigstore/bundle"),
      import("@sigstore/verify"),
      import("@sigstore/protobuf-specs"),
    ]);
  return { bundleFromJSON, toSignedEntity, toTrustMaterial, Verifier, TrustedRoot };
}
