/** The load of bench/load.ts, straight on sockets: what it takes of the processors, the servers do not have. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Fire } from "../load.ts";

type Tally = { sent: number; failed: number; tookMs: number[] };

export const fire: Fire = async ({ url, path, headers, body, seconds, connections }) => {
  const { hostname, port, host } = new URL(url);
  const fields = { host, "content-type": "application/json", ...headers };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST ${path} HTTP/1.1\r\n${lines.join("")}content-length: `;
  const next = () => {
    const text = body();
    return `${head}${Buffer.byteLength(text)}\r\n\r\n${text}`;
  };
  const sockets = await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      await once(socket, "connect");
      return socket;
    }),
  );
  const tally: Tally = { sent: 0, failed: 0, tookMs: [] };
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1_000;
  await Promise.all(sockets.map((socket) => ask(socket, { next, endsAt, tally })));
  const lasted = (performance.now() - startedAt) / 1_000;
  const times = Float64Array.from(tally.tookMs).sort();
  const at = (p: number) => times[Math.ceil((times.length * p) / 100) - 1] ?? Number.NaN;
  const { sent, failed } = tally;
  return { sent, failed, perSecond: times.length / lasted, p50Ms: at(50), p99Ms: at(99) };
};

type Asking = { next: () => string; endsAt: number; tally: Tally };

/** One request after the other, until it is time; a connection that breaks, or stays silent, counts as one that failed. */
function ask(socket: Socket, { next, endsAt, tally }: Asking): Promise<void> {
  return new Promise((resolve) => {
    let sentAt = 0;
    let received = "";
    const send = () => {
      sentAt = performance.now();
      tally.sent += 1;
      socket.write(next());
    };
    const fail = () => {
      tally.failed += 1;
      socket.destroy();
    };
    const receive = (answer: string) => {
      const now = performance.now();
      if (answer.startsWith("HTTP/1.1 2")) tally.tookMs.push(now - sentAt);
      else tally.failed += 1;
      if (now < endsAt) send();
      else socket.destroy();
    };
    // One character for each byte.
    socket.setEncoding("latin1");
    socket.setTimeout(10_000, fail);
    socket.on("data", (chunk: string) => {
      received += chunk;
      if (!isWhole(received)) return;
      const answer = received;
      received = "";
      receive(answer);
    });
    socket.on("end", fail);
    socket.on("error", fail);
    socket.on("close", () => resolve());
    send();
  });
}

const lengthLine = /\r\ncontent-length: *(\d+)\r\n/i;

function isWhole(answer: string): boolean {
  const headEnds = answer.indexOf("\r\n\r\n");
  if (headEnds < 0) return false;
  const length = lengthLine.exec(answer);
  if (length === null) return answer.endsWith("0\r\n\r\n");
  return answer.length >= headEnds + 4 + Number(length[1]);
}
