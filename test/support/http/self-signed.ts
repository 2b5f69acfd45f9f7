/** A server's certificate that nobody else has signed. */
import { webcrypto } from "node:crypto";
import "reflect-metadata";
import * as x509 from "@peculiar/x509";

const ecdsa = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

export const rsa = {
  ...{ name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
  ...{ modulusLength: 2_048, publicExponent: Uint8Array.of(1, 0, 1) },
};

/** For these names, from an hour ago until `endsAt`. Both in PEM. */
export async function createSelfSigned(
  names: readonly string[],
  endsAt: Date,
  algorithm: typeof ecdsa | typeof rsa = ecdsa,
): Promise<{ key: string; cert: string }> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: "01",
    name: `CN=${names[0]}`,
    notBefore: new Date(Date.now() - 3_600_000),
    notAfter: endsAt,
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: "dns" as const, value })),
      ),
    ],
  });
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { key: x509.PemConverter.encode(key, "PRIVATE KEY"), cert: certificate.toString("pem") };
}
