/** Connects to a TCP server, sends a text, and reads the beginning of what it answers. */
import type { Socket } from "node:net";
import type { ProbeObservation, RunnableOf } from "#monitor/contract.ts";
import { open } from "./connection.ts";
import { observe, type Run, type TimeLimit } from "./observe.ts";

type TcpTarget = Pick<RunnableOf<"tcp">, "host" | "port" | "send" | "expect">;

/** What is read of an answer, which may be endless. */
const longestAnswerBytes = 4_096;

/** Never throws. Without `expect` a connection is enough, and what was to be sent is sent. */
export function probeTcp(target: TcpTarget, limits: TimeLimit): Promise<ProbeObservation> {
  return observe(limits, async (run) => {
    const socket = await open({ hostname: target.host, port: target.port }, run);
    try {
      if (target.send !== null) await send(socket, target.send);
      if (target.expect === null) return { kind: "received", text: "" };
      return { kind: "received", text: await read(socket, target.expect, run) };
    } finally {
      socket.destroy();
    }
  });
}

function send(socket: Socket, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // A server that reads nothing: the signal destroys the socket.
    socket.once("close", () => reject(socket.errored ?? new Error("closed")));
    socket.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

/** Up to the text that is expected, the end of the answer or the limits. */
async function read(socket: Socket, expected: string, { timing }: Run): Promise<string> {
  let answer = Buffer.alloc(0);
  const text = () => answer.toString("utf8");
  try {
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      timing.phases.firstByte ??= performance.now() - (timing.connectedAtMs ?? 0);
      answer = Buffer.concat([answer, chunk]).subarray(0, longestAnswerBytes);
      if (text().includes(expected) || answer.length === longestAnswerBytes) break;
    }
  } catch (error) {
    // What came says more than that no more came.
    if (answer.length === 0) throw error;
  }
  const { firstByte } = timing.phases;
  if (firstByte !== null) {
    timing.phases.transfer = performance.now() - (timing.connectedAtMs ?? 0) - firstByte;
  }
  return text();
}
