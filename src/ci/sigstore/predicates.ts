/** Types of signed statements (https://github.com/in-toto/attestation/blob/main/spec/v1/predicate.md). */

/** `cosign sign` writes this type since its version 3. */
export const cosignSignature = "https://sigstore.dev/cosign/sign/v1";

/** https://slsa.dev/spec/v1.0/provenance and https://slsa.dev/spec/v0.2/provenance */
export const slsaProvenance = "https://slsa.dev/provenance/v1";
export const slsaProvenance02 = "https://slsa.dev/provenance/v0.2";
