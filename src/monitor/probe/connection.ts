/** Opens the connection of a probe step by step, to measure the time of each step. */
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { isIP, connect as openSocket, type Socket } from "node:net";
import { connect as openTls } from "node:tls";
import type { buildConnector } from "undici";
import { ProbeFault } from "./fault.ts";
import type { PhaseTimes } from "./timing.ts";

type ConnectOptions = { timing: PhaseTimes; signal: AbortSignal; ca?: string };

type Target = { hostname: string; port: number; isTls: boolean };

export function createConnector(opening: ConnectOptions): buildConnector.connector {
  return ({ hostname: name, protocol, port }, callback) => {
    // A URL has an IPv6 address in brackets.
    const hostname = name.replace(/^\[(.*)\]$/, "$1");
    const isTls = protocol === "https:";
    const target = { hostname, port: Number(port) || (isTls ? 443 : 80), isTls };
    open(target, opening).then(
      (socket) => callback(null, socket),
      (error) => callback(error, null),
    );
  };
}

async function open(target: Target, opening: ConnectOptions): Promise<Socket> {
  const { timing } = opening;
  const addresses = await findAddresses(target.hostname, timing);
  const socket = await timed(timing, "connect", () => connect(target, addresses, opening.signal));
  try {
    const ready = target.isTls
      ? await timed(timing, "tls", () => secure(socket, target.hostname, opening))
      : socket;
    timing.connectedAtMs = performance.now();
    return ready;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

async function timed<Result>(
  timing: PhaseTimes,
  phase: "dns" | "connect" | "tls",
  step: () => Promise<Result>,
): Promise<Result> {
  const startedMs = performance.now();
  const result = await step();
  timing.phases[phase] = performance.now() - startedMs;
  return result;
}

type Address = { address: string; family: number };

async function findAddresses(hostname: string, timing: PhaseTimes): Promise<Address[]> {
  const family = isIP(hostname);
  if (family !== 0) return [{ address: hostname, family }];
  return timed(timing, "dns", () => lookup(hostname, { all: true }));
}

async function connect(
  { hostname, port }: Target,
  addresses: Address[],
  signal: AbortSignal,
): Promise<Socket> {
  const socket = openSocket({
    host: hostname,
    port,
    signal,
    // All addresses are tried in turn, as a browser does.
    autoSelectFamily: true,
    lookup: (_hostname, _options, callback) => callback(null, addresses),
  });
  socket.setNoDelay(true);
  socket.on("error", ignore);
  await once(socket, "connect", { signal });
  return socket;
}

/** Verifies the certificate itself, because the days left are recorded of an untrusted one too. */
async function secure(socket: Socket, hostname: string, opening: ConnectOptions): Promise<Socket> {
  const { timing, signal, ca } = opening;
  const tls = openTls({
    socket,
    ...(isIP(hostname) === 0 && { servername: hostname }),
    host: hostname,
    ALPNProtocols: ["http/1.1"],
    rejectUnauthorized: false,
    ...(ca !== undefined && { ca }),
  });
  tls.on("error", ignore);
  await once(tls, "secureConnect", { signal });
  const expiry = Date.parse(tls.getPeerCertificate().valid_to);
  if (!Number.isNaN(expiry)) timing.tlsDaysLeft = Math.floor((expiry - Date.now()) / dayMs);
  if (!tls.authorized) {
    tls.destroy();
    throw new ProbeFault(`the certificate is not trusted: ${String(tls.authorizationError)}`);
  }
  return tls;
}

/** `once` reports an error to its caller; one that occurs after that must not end the process. */
function ignore(): void {}

const dayMs = 86_400_000;
