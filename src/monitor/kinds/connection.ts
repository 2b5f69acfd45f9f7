/** Opens the connection of a probe step by step, to measure the time of each step. */
import type { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { isIP, type Socket } from "node:net";
import { getCACertificates, connect as openTls, type TLSSocket } from "node:tls";
import type { buildConnector } from "undici";
import { unlessAborted } from "#kernel/async.ts";
import { readCertificates } from "#kernel/crypto.ts";
import { type Attempt, type PhaseTimes, ProbeFault } from "./observe.ts";
import { type StartTlsProtocol, startTls } from "./starttls.ts";

/** Finds the certificate that ends first, of those on which the trust in the connection depends. */
type ChainEnd = {
  endsAtMs: number;
  /** The name of the issuer whose certificate it is; null: it is the server's own. */
  issuer: string | null;
};

/**
 * Returns the end of the server's certificate or of an issuer that it sends along, up to a root: roots that are trusted
 * here are not served by the server, and other certificates have no part in it. `ca`: trusted instead of the system's
 * (PEM). Undefined: no certificate has a readable end.
 */
function findChainEnd(socket: TLSSocket, ca?: string): ChainEnd | undefined {
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
  return pems.flatMap(readCertificates).filter(isRoot);
}

/** The name by which people know it, of a subject with one attribute on each line. */
function nameOf({ subject }: X509Certificate): string {
  const [, name] = /^CN=(.*)$/m.exec(subject) ?? [];
  return name ?? subject.replaceAll("\n", ", ");
}

type ConnectOptions = Attempt & { ca?: string };

type Address = { hostname: string; port: number };

/** `servername`: what the certificate must have; `protocols`: offered for TLS; `starttls`: spoken before it. */
type Secured = {
  servername: string;
  protocols?: string[];
  starttls?: StartTlsProtocol | undefined;
};

export function createConnector(opening: ConnectOptions): buildConnector.connector {
  return ({ hostname: name, protocol, port }, callback) => {
    // A URL has an IPv6 address in brackets.
    const hostname = name.replace(/^\[(.*)\]$/, "$1");
    const isTls = protocol === "https:";
    const address = { hostname, port: Number(port) || (isTls ? 443 : 80) };
    const secured = { servername: hostname, protocols: ["http/1.1"] };
    const opened = isTls ? openTlsConnection(address, secured, opening) : open(address, opening);
    opened.then(
      (socket) => callback(null, socket),
      (error) => callback(error, null),
    );
  };
}

/** A connection that is trusted; throws the reason of one that is not. */
export async function openTlsConnection(
  address: Address,
  secured: Secured,
  opening: ConnectOptions,
): Promise<Socket> {
  const { timing } = opening;
  const socket = await open(address, opening);
  delete timing.connectedAtMs;
  try {
    const ready = await timed(timing, "tls", () => secure(socket, secured, opening));
    timing.connectedAtMs = performance.now();
    return ready;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** A plain connection. The signal ends it also later. */
export async function open(address: Address, opening: ConnectOptions): Promise<Socket> {
  const { timing, signal, reach } = opening;
  // A lookup of the system cannot be ended, and may take longer than the run may.
  const resolve = () => unlessAborted(reach.resolve(address.hostname, address.port), signal);
  const isLiteral = isIP(address.hostname) !== 0;
  const found = await (isLiteral ? resolve() : timed(timing, "dns", resolve));
  const { connectTo } = await import("#kernel/reach.ts");
  const socket = await timed(timing, "connect", () => connectTo(found, address.port, signal));
  timing.connectedAtMs = performance.now();
  return socket;
}

/** Measures a step that succeeds. */
export async function timed<Result>(
  timing: PhaseTimes,
  phase: "dns" | "connect" | "tls",
  step: () => Promise<Result>,
): Promise<Result> {
  const startedMs = performance.now();
  const result = await step();
  timing.phases[phase] = performance.now() - startedMs;
  return result;
}

/** Verifies the certificate itself, because the days left are recorded of an untrusted one too. */
async function secure(
  socket: Socket,
  { servername, protocols, starttls }: Secured,
  { timing, signal, ca }: ConnectOptions,
): Promise<Socket> {
  if (starttls !== undefined) await startTls(socket, starttls);
  const tls = openTls({
    socket,
    ...(isIP(servername) === 0 && { servername }),
    host: servername,
    ...(protocols !== undefined && { ALPNProtocols: protocols }),
    rejectUnauthorized: false,
    ...(ca !== undefined && { ca }),
  });
  tls.on("error", ignore);
  await once(tls, "secureConnect", { signal });
  const end = findChainEnd(tls, ca);
  if (end !== undefined) {
    timing.tlsDaysLeft = Math.floor((end.endsAtMs - Date.now()) / dayMs);
    timing.tlsIssuer = end.issuer;
  }
  if (!tls.authorized) {
    tls.destroy();
    throw new ProbeFault(describeDistrust(String(tls.authorizationError), timing.tlsIssuer));
  }
  return tls;
}

/** Words for the commonest; others by their code alone. */
function describeDistrust(code: string, issuer: string | null = null): string {
  const isOfIssuer = code === "CERT_HAS_EXPIRED" && issuer !== null;
  const words = isOfIssuer ? `that of its issuer ${issuer} has expired` : distrusts[code];
  return `the certificate is not trusted: ${words === undefined ? code : `${words} (${code})`}`;
}

const unknownAuthority = "it is not of a known authority, or its chain is not whole";
const distrusts: Record<string, string> = {
  CERT_HAS_EXPIRED: "it has expired",
  CERT_NOT_YET_VALID: "it is not valid yet",
  DEPTH_ZERO_SELF_SIGNED_CERT: "it is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  ERR_TLS_CERT_ALTNAME_INVALID: "it is of another host",
};

/** `once` reports an error to its caller; one that occurs after that must not end the process. */
function ignore(): void {}

const dayMs = 86_400_000;
