/** A bundle's material as the annotations of cosign's layers. */
import type { LogEntry } from "./log.ts";

export type Material = {
  certificate?: { rawBytes: string };
  publicKey?: { hint: string };
  tlogEntries: LogEntry[];
  timestampVerificationData: { rfc3161Timestamps: { signedTimestamp: string }[] };
};

export function annotate({ certificate, tlogEntries, timestampVerificationData }: Material) {
  const [entry] = tlogEntries;
  const [stamp] = timestampVerificationData.rfc3161Timestamps;
  return {
    ...(certificate && { "dev.sigstore.cosign/certificate": toPem(certificate.rawBytes) }),
    ...(entry && { "dev.sigstore.cosign/bundle": JSON.stringify(toCosignEntry(entry)) }),
    ...(stamp && {
      "dev.sigstore.cosign/rfc3161timestamp": JSON.stringify({
        SignedRFC3161Timestamp: stamp.signedTimestamp,
      }),
    }),
  };
}

function toCosignEntry({ canonicalizedBody, integratedTime, logId, inclusionPromise }: LogEntry) {
  return {
    SignedEntryTimestamp: inclusionPromise?.signedEntryTimestamp,
    Payload: {
      body: canonicalizedBody,
      integratedTime: Number(integratedTime),
      logIndex: 1,
      logID: Buffer.from(logId.keyId, "base64").toString("hex"),
    },
  };
}

function toPem(base64: string): string {
  return `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`;
}
