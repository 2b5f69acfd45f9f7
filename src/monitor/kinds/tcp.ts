/** A check of TCP: connects, sends a text, and reads the beginning of what is answered. */
import type { Socket } from "node:net";
import { z } from "zod";
import { type ReadSecret, requireMeant } from "#kernel/secrets.ts";
import { show } from "./assertions.ts";
import { open } from "./connection.ts";
import { Host, lintSecrets, Port, Text, withPort } from "./fields.ts";
import { defineKind, failedBy, type Run } from "./kind.ts";
import { type Attempt, observe } from "./observe.ts";
import { createFill } from "./request.ts";

const fields = {
  kind: z.literal("tcp"),
  host: z.string(),
  port: z.int(),
  /** Sent when connected; null: nothing. */
  send: z.string().nullable(),
  /** The text that the first 4 KB of the answer contain; null: a connection is enough. */
  expect: z.string().nullable(),
};

type TcpCheck = z.infer<z.ZodObject<typeof fields>>;

export const tcp = defineKind({
  fields,
  row: {
    kind: z.literal("tcp").describe("A connection of TCP."),
    host: Host,
    port: Port,
    send: Text.optional().describe("Sent when connected. May have {{NAME}} of a secret."),
    expect: Text.optional().describe(
      "A text that the first 4 KB of the answer contain. Default: a connection is enough.",
    ),
  },
  lint: () => {},
  lintPlaceholders: ({ send }, complain) => lintSecrets({ send }, complain),
  toCheck({ kind, host, port, send = null, expect = null }) {
    return { kind, host, port, send, expect };
  },
  describe(check) {
    const details = check.expect === null ? [] : [{ name: "Expects", value: check.expect }];
    return { method: "TCP", path: withPort(check), details };
  },
  build: (check, { readSecret }) => void buildText(check, readSecret),
  hostsOf: ({ host }) => [host],
  probe: probeTcp,
  grade({ expect }, { outcome: { text, end } }) {
    if (expect === null || text.includes(expect)) return null;
    const answered = text === "" ? "answered nothing" : `answered ${show(text)}`;
    return failedBy(`${answered}${end}, expected to contain ${show(expect)}`);
  },
  hosted: null,
});

/** The text to send. Throws a `MisdirectedSecret` if a secret in it may not go there. */
export function buildText(
  { host, port, send }: Pick<TcpCheck, "host" | "port" | "send">,
  readSecret: ReadSecret,
): string | null {
  if (send === null) return null;
  const { fill, bindings } = createFill(readSecret);
  const text = fill(send);
  const shown = withPort({ host, port });
  // An address with a zone, such as fe80::1%eth0, is in no URL.
  requireMeant(bindings, { address: URL.parse(`tcp://${shown}`) ?? undefined, shown });
  return text;
}

/** Without `expect` a connection is enough, and what was to be sent is sent. */
async function probeTcp(check: TcpCheck, run: Run) {
  const text = buildText(check, run.target.readSecret);
  const { expect } = check;
  // Where it was cut off it may end in the beginning of a secret.
  const hide = (answer: string) => run.hide(`${answer}…`, expect ?? "").slice(0, -1);
  return observe(run, async (attempt) => {
    const socket = await open({ hostname: check.host, port: check.port }, attempt);
    try {
      if (text !== null) await send(socket, text);
      const answer = expect === null ? nothing : await read(socket, { ...attempt, expect, hide });
      return { kind: "received" as const, ...answer };
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

/** The longest part of an answer that is read: it may be endless. */
const longestAnswerBytes = 4_096;

/** `end`: why the text is not the whole answer; empty: it is, or nobody asks. */
type Answer = { text: string; end: string };
const nothing: Answer = { text: "", end: "" };

type Reading = Attempt & { expect: string; hide: (answer: string) => string };

/** Up to the text that is expected, the end of the answer or the limits. Hidden secrets do not end it: its time is shown. */
async function read(socket: Socket, { timing, expect, hide }: Reading): Promise<Answer> {
  let answer = Buffer.alloc(0);
  let end = "";
  // Without half a character at its end, behind which no secret would be found.
  const text = () => hide(new TextDecoder().decode(answer, { stream: true }));
  try {
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      timing.phases.firstByte ??= performance.now() - (timing.connectedAtMs ?? 0);
      answer = Buffer.concat([answer, chunk]).subarray(0, longestAnswerBytes);
      if (text().includes(expect)) break;
      if (answer.length < longestAnswerBytes) continue;
      end = " in its first 4 KB";
      break;
    }
  } catch (error) {
    // The received part says more than that no more came.
    if (answer.length === 0) throw error;
    end = " before it was cut off";
  }
  const { firstByte } = timing.phases;
  if (firstByte !== null) {
    timing.phases.transfer = performance.now() - (timing.connectedAtMs ?? 0) - firstByte;
  }
  return { text: text(), end };
}
