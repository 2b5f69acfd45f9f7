/** A certificate authority with its log, and a timestamp authority: those of Sigstore's own tests. */
import { createHash, generateKeyPairSync, type KeyObject } from "node:crypto";
// The package's main file would also load what patches `node:http`.
import { initializeCA, initializeCTLog } from "@sigstore/mock/dist/fulcio/index.js";
import { initializeTSA } from "@sigstore/mock/dist/timestamp/index.js";

export type Identity = { subject: string; issuer: string; run?: string };

export type Authorities = Awaited<ReturnType<typeof createAuthorities>>;

/** `now` is the time of whatever they sign: whole seconds, as the library reads no shortened fractions. */
export async function createAuthorities(now: Date) {
  const certificateLog = await initializeCTLog(createKeys(), now);
  const authority = await initializeCA(createKeys(), certificateLog, now);
  const timestamps = await initializeTSA(createKeys(), now);
  const certify = async (key: KeyObject, { subject, issuer, run }: Identity) => {
    const publicKey = key.export({ format: "der", type: "spki" }) as Buffer<ArrayBuffer>;
    const extensions = [
      { oid: "1.3.6.1.4.1.57264.1.8", value: issuer },
      ...(run === undefined ? [] : [{ oid: "1.3.6.1.4.1.57264.1.21", value: run }]),
    ];
    return toBuffer(
      await authority.issueCertificate({ publicKey, subjectAltName: subject, extensions }),
    );
  };
  const stamp = async (signature: Buffer) =>
    toBuffer(
      await timestamps.timestamp({
        artifactHash: createHash("sha256").update(signature).digest(),
        hashAlgorithmOID: "2.16.840.1.101.3.4.2.1",
        nonce: 1,
        policyOID: "1.3.6.1.4.1.57264.2",
      }),
    );
  return {
    certify,
    stamp,
    trusted: {
      certificateAuthorities: [trustChain([authority.rootCertificate])],
      timestampAuthorities: [trustChain([timestamps.intCertificate, timestamps.rootCertificate])],
      ctlogs: [trustLog(certificateLog.publicKey, toBuffer(certificateLog.logID))],
    },
  };
}

export function createKeys() {
  return generateKeyPairSync("ec", { namedCurve: "P-256" });
}

const validFor = { start: new Date(0).toISOString() };

function trustChain(certificates: readonly ArrayBufferView[]) {
  const chain = certificates.map((bytes) => ({ rawBytes: toBuffer(bytes).toString("base64") }));
  return {
    subject: { organization: "test", commonName: "test" },
    uri: "https://authority.test",
    certChain: { certificates: chain },
    validFor: { ...validFor } as { start: string; end?: string },
  };
}

function trustLog(publicKey: Buffer, logId: Buffer) {
  return {
    baseUrl: "https://certificate-log.test",
    hashAlgorithm: "SHA2_256",
    publicKey: {
      rawBytes: publicKey.toString("base64"),
      keyDetails: "PKIX_ECDSA_P256_SHA_256",
      validFor,
    },
    logId: { keyId: logId.toString("base64") },
  };
}

function toBuffer({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
