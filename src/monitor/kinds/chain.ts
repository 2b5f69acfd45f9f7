/** Finds the certificate that ends first, of those on which the trust in the connection depends. */
import { X509Certificate } from "node:crypto";
import { getCACertificates, type TLSSocket } from "node:tls";

export type ChainEnd = {
  endsAtMs: number;
  /** The name of the issuer whose certificate it is; null: it is the server's own. */
  issuer: string | null;
};

/**
 * Returns the end of the server's certificate or of an issuer that it sends along, up to a root: roots that are trusted
 * here are not served by the server, and other certificates have no part in it. `ca`: trusted instead of the system's
 * (PEM). Undefined: no certificate has a readable end.
 */
export function findChainEnd(socket: TLSSocket, ca?: string): ChainEnd | undefined {
  const served: X509Certificate[] = [];
  // The certificates in the order in which they were sent, whoever issued them.
  for (let next = socket.getPeerX509Certificate(); next; next = next.issuerCertificate) {
    served.push(next);
    if (served.length === mostServed) break;
  }
  const ends = findPath(served, ca === undefined ? systemRoots() : readRoots([ca]))
    .map((certificate, index) => ({
      endsAtMs: Date.parse(certificate.validTo),
      issuer: index === 0 ? null : nameOf(certificate),
    }))
    .filter(({ endsAtMs }) => !Number.isNaN(endsAtMs));
  return ends.toSorted((a, b) => a.endsAtMs - b.endsAtMs)[0];
}

/** Chains have up to five. Those that a hostile server makes cost a check of a signature for each pair of them. */
const mostServed = 10;

/** The first of `served`, and those after it by which it is trusted. */
function findPath(served: X509Certificate[], roots: X509Certificate[]): X509Certificate[] {
  const path = served.slice(0, 1);
  for (let last = path[0]; last !== undefined; ) {
    const issued: X509Certificate = last;
    if (isRoot(issued) || roots.some((root) => hasIssued(root, issued))) break;
    const issuers = served.filter(
      (one) => !path.includes(one) && hasIssued(one, issued) && !isRoot(one),
    );
    // Several issuers may have the same key: any is enough, and clients take the one that ends last.
    last = issuers.toSorted((a, b) => Date.parse(b.validTo) - Date.parse(a.validTo))[0];
    if (last !== undefined) path.push(last);
  }
  return path;
}

function hasIssued(issuer: X509Certificate, certificate: X509Certificate): boolean {
  try {
    return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
  } catch {
    // A key that is not supported.
    return false;
  }
}

function isRoot(certificate: X509Certificate): boolean {
  return certificate.subject === certificate.issuer && hasIssued(certificate, certificate);
}

let system: X509Certificate[] | undefined;

/** Read once: there are hundreds. */
function systemRoots(): X509Certificate[] {
  system ??= readRoots(getCACertificates("default"));
  return system;
}

function readRoots(pems: readonly string[]): X509Certificate[] {
  const blocks = pems.flatMap(
    (pem) => pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [],
  );
  return blocks.map((block) => new X509Certificate(block)).filter(isRoot);
}

/** The name by which people know it, of a subject with one attribute on each line. */
function nameOf({ subject }: X509Certificate): string {
  const [, name] = /^CN=(.*)$/m.exec(subject) ?? [];
  return name ?? subject.replaceAll("\n", ", ");
}
