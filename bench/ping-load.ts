/** Pings over kept connections, each sent when the clock says so, whether earlier ones are answered or not. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { nowMs } from "./monitor-fixture.ts";

/** Most jobs at once; below what the server accepts unanswered on one, whatever it takes to answer. */
const mostConnections = 2_000;

export type PingTimes = {
  /** From sending each ping to its answer. */
  tookMs: number[];
  /** Pings that were answered with 200; only those count as taken. */
  ok: number;
  /** The other answers, by status; 0: there was none. */
  refused: Map<number, number>;
  /** From the first ping to the last one that was sent, and to the last answer. */
  sendingMs: number;
  elapsedMs: number;
};

type Connection = { socket: Socket; sentMs: number[]; rest: string };

/** Sends a ping to each token in turn, evenly over `overMs`; ends when all are answered or 60 s have passed. */
export async function sendPings(
  url: string,
  { tokens, overMs }: { tokens: readonly string[]; overMs: number },
): Promise<PingTimes> {
  const times = { tookMs: [], ok: 0, refused: new Map(), sendingMs: 0, elapsedMs: 0 } as PingTimes;
  const size = Math.min(mostConnections, tokens.length);
  const connections = await openAll(url, size, times);
  const requests = tokens.map((token) => `GET /${token} HTTP/1.1\r\nhost: bench\r\n\r\n`);
  const startedMs = nowMs();
  for (let sent = 0; sent < requests.length; await delay(1)) {
    const due = Math.min(requests.length, ((nowMs() - startedMs) / overMs) * requests.length);
    for (; sent < due; sent += 1) send(connections[sent % size], requests[sent]);
  }
  times.sendingMs = nowMs() - startedMs;
  const isAnswered = () => times.tookMs.length === requests.length;
  while (!isAnswered() && nowMs() < startedMs + 60_000) await delay(5);
  for (const { socket, sentMs } of connections) {
    // From now on a connection that closes is no answer any more.
    socket.removeAllListeners("close").destroy();
    if (sentMs.length > 0) addRefused(times, { status: 0, count: sentMs.length });
  }
  times.elapsedMs = (isAnswered() ? times.elapsedMs : nowMs()) - startedMs;
  return times;
}

function send(connection: Connection | undefined, request: string | undefined): void {
  if (connection === undefined || request === undefined) throw new Error("more pings than tokens");
  connection.sentMs.push(nowMs());
  connection.socket.write(request);
}

async function openAll(url: string, size: number, times: PingTimes): Promise<Connection[]> {
  const { hostname: host, port } = new URL(url);
  const open = async () => {
    const socket = connect({ host, port: Number(port), noDelay: true });
    await once(socket, "connect", { signal: AbortSignal.timeout(10_000) });
    const connection: Connection = { socket, sentMs: [], rest: "" };
    const note = (status: number) => noteAnswer(connection, { status, times });
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => readAnswers(connection, { text, note }));
    const lose = () => connection.sentMs.slice().forEach(() => void note(0));
    socket.on("error", () => {}).on("close", lose);
    return connection;
  };
  const connections: Connection[] = [];
  while (connections.length < size) connections.push(await open());
  return connections;
}

/** Every answer to a ping has a length. */
const head = /^HTTP\/1\.1 (\d{3}) .*?\r\ncontent-length: (\d+)\r\n.*?\r\n\r\n/is;

function readAnswers(
  connection: Connection,
  { text, note }: { text: string; note: (status: number) => void },
): void {
  connection.rest += text;
  for (;;) {
    const found = head.exec(connection.rest);
    const length = (found?.[0].length ?? 0) + Number(found?.[2]);
    if (found === null || connection.rest.length < length) return;
    connection.rest = connection.rest.slice(length);
    note(Number(found[1]));
  }
}

function noteAnswer(
  { sentMs }: Connection,
  { status, times }: { status: number; times: PingTimes },
): void {
  times.elapsedMs = nowMs();
  times.tookMs.push(times.elapsedMs - (sentMs.shift() ?? times.elapsedMs));
  if (status === 200) times.ok += 1;
  else addRefused(times, { status, count: 1 });
}

function addRefused({ refused }: PingTimes, { status, count }: { status: number; count: number }) {
  refused.set(status, (refused.get(status) ?? 0) + count);
}
