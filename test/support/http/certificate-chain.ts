/** Authorities and certificates that they have signed. */
import { webcrypto } from "node:crypto";
import "reflect-metadata";
import * as x509 from "@peculiar/x509";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const dayMs = 86_400_000;

export type Issued = { name: string; keys: webcrypto.CryptoKeyPair; pem: string };

type Ask = {
  name: string;
  /** Until it ends, from now. */
  days: number;
  /** Absent: it signs itself. */
  issuer?: Issued;
  /** Absent: new ones. */
  keys?: webcrypto.CryptoKeyPair;
  /** A server's, for localhost; else an authority's. */
  isServer?: boolean;
};

let issuedCount = 0;

/** A certificate of ten days ago. */
export async function issue(ask: Ask): Promise<Issued> {
  const { name, days, issuer, isServer = false } = ask;
  const keys =
    ask.keys ?? (await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]));
  issuedCount += 1;
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: issuedCount.toString(16).padStart(4, "0"),
    subject: `CN=${name}`,
    issuer: `CN=${issuer?.name ?? name}`,
    notBefore: new Date(Date.now() - 10 * dayMs),
    notAfter: new Date(Date.now() + (days + 0.5) * dayMs),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: (issuer?.keys ?? keys).privateKey,
    extensions: isServer
      ? [new x509.SubjectAlternativeNameExtension([{ type: "dns", value: "localhost" }])]
      : [
          new x509.BasicConstraintsExtension(true),
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign),
        ],
  });
  return { name, keys, pem: certificate.toString("pem") };
}

/** In PEM. */
export async function privateKeyOf({ keys }: Issued): Promise<string> {
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return x509.PemConverter.encode(key, "PRIVATE KEY");
}
