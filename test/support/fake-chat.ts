/** A chat service's webhook that checks what it gets against Slack's limits, and answers by script. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";

const Text = z.object({
  type: z.enum(["mrkdwn", "plain_text"]),
  text: z.string().min(1).max(3_000),
});

const Block = z.discriminatedUnion("type", [
  z.object({ type: z.literal("header"), text: Text.extend({ text: z.string().min(1).max(150) }) }),
  z
    .object({
      type: z.literal("section"),
      text: Text.optional(),
      fields: z
        .array(Text.extend({ text: z.string().min(1).max(2_000) }))
        .max(10)
        .optional(),
    })
    .refine((section) => section.text !== undefined || section.fields !== undefined),
  z.object({ type: z.literal("context"), elements: z.array(Text).min(1).max(10) }),
]);

/** What Slack takes, of what we send. */
export const SlackMessage = z.object({
  text: z.string().min(1).max(40_000),
  blocks: z.array(Block).min(1).max(50),
  metadata: z.object({ event_type: z.string(), event_payload: z.object({ id: z.string() }) }),
});
export type SlackMessage = z.infer<typeof SlackMessage>;

/** `hang` never answers, `reset` breaks the connection. */
export type Reply = { status: number; headers?: Record<string, string> } | "hang" | "reset";

export type FakeChat = {
  /** With a secret path, as the real one. */
  url: string;
  /** Accepted messages, in the order of their arrival. */
  messages: SlackMessage[];
  /** When each request came, accepted or not. */
  attemptsAtMs: number[];
  /** What was wrong with requests, if anything. */
  faults: string[];
  stop: () => Promise<void>;
};

/** Answers the first requests with `replies`, and 200 from then on. */
export async function startFakeChat(options: { replies?: Reply[] } = {}): Promise<FakeChat> {
  const replies = [...(options.replies ?? [])];
  const messages: SlackMessage[] = [];
  const attemptsAtMs: number[] = [];
  const faults: string[] = [];
  const server = createServer(async (incoming, outgoing) => {
    attemptsAtMs.push(Date.now());
    const body = await readBody(incoming);
    const reply = replies.shift() ?? { status: 200 };
    if (reply === "hang") return;
    if (reply === "reset") {
      incoming.socket.resetAndDestroy();
      return;
    }
    const parsed = SlackMessage.safeParse(body);
    if (!parsed.success) faults.push(parsed.error.message);
    else if (reply.status === 200) messages.push(parsed.data);
    outgoing.writeHead(reply.status, reply.headers).end(reply.status === 200 ? "ok" : "error");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/services/T000/B000/secret-part`,
    messages,
    attemptsAtMs,
    faults,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readBody(incoming: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString());
}
