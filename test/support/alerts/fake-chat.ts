/** A chat service's webhook that checks what it gets against Slack's limits, and answers by script. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";

/** Text whose `&`, `<` and `>` are escaped: a bare one would be taken for a link or a mention. */
const markup = (limit: number) =>
  z.object({
    type: z.literal("mrkdwn"),
    text: z
      .string()
      .min(1)
      .max(limit)
      .refine((text) => !/[<>]|&(?!amp;|lt;|gt;)/.test(text), { error: "is not escaped" })
      .refine((text) => text.isWellFormed(), { error: "is not Unicode" }),
  });

const Header = z.object({
  type: z.literal("header"),
  text: z.object({ type: z.literal("plain_text"), text: z.string().min(1).max(150) }),
});

const Section = z
  .object({
    type: z.literal("section"),
    text: markup(3_000).optional(),
    fields: z.array(markup(2_000)).min(1).max(10).optional(),
  })
  .refine((section) => section.text !== undefined || section.fields !== undefined);

const Context = z.object({
  type: z.literal("context"),
  elements: z.array(markup(3_000)).min(1).max(10),
});

/** What Slack takes, of what we send. */
export const SlackMessage = z.object({
  text: z.string().min(1).max(40_000),
  blocks: z
    .array(z.discriminatedUnion("type", [Header, Section, Context]))
    .min(1)
    .max(50),
  metadata: z.object({ event_type: z.string(), event_payload: z.object({ id: z.string() }) }),
});
export type SlackMessage = z.infer<typeof SlackMessage>;

/** `hang` never answers, `reset` breaks the connection; `lost` takes the message and breaks it then. */
export type Reply =
  | { status: number; headers?: Record<string, string>; body?: string }
  | "hang"
  | "reset"
  | "lost";

export type FakeChat = {
  /** With a secret path, as the real one. */
  url: string;
  /** Accepted messages, in the order of their arrival. */
  messages: SlackMessage[];
  /** When each request came, accepted or not. */
  attemptsAtMs: number[];
  /** What was wrong with requests, if anything. */
  faults: string[];
  /** Answers the next requests so. */
  answer: (replies: Reply[]) => void;
  /** Whether all of those have come. */
  isAnsweredByScript: () => boolean;
  stop: () => Promise<void>;
};

/** Answers the first requests with `replies`; from then on 200, or 400 to what Slack would not take. */
export async function startFakeChat(options: { replies?: Reply[] } = {}): Promise<FakeChat> {
  const replies = [...(options.replies ?? [])];
  const messages: SlackMessage[] = [];
  const attemptsAtMs: number[] = [];
  const faults: string[] = [];
  const server = createServer(async (incoming, outgoing) => {
    attemptsAtMs.push(Date.now());
    const reply = replies.shift() ?? { status: 200 };
    const { message, fault } = await readMessage(incoming);
    if (fault !== undefined) faults.push(fault);
    else if (message !== undefined && isTaken(reply)) messages.push(message);
    const isWrong = fault !== undefined && typeof reply === "object" && reply.status === 200;
    answer(outgoing, isWrong ? { status: 400, body: "invalid_blocks" } : reply);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/services/T000/B000/secret-part`,
    messages,
    attemptsAtMs,
    faults,
    answer: (next) => {
      replies.push(...next);
    },
    isAnsweredByScript: () => replies.length === 0,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function isTaken(reply: Reply): boolean {
  return reply === "lost" || (typeof reply === "object" && reply.status === 200);
}

function answer(outgoing: ServerResponse, reply: Reply): void {
  if (reply === "hang") return;
  if (typeof reply === "string") {
    outgoing.socket?.resetAndDestroy();
    return;
  }
  const body = reply.body ?? (reply.status === 200 ? "ok" : "error");
  outgoing.writeHead(reply.status, reply.headers).end(body);
}

type Received = { message?: SlackMessage; fault?: string };

async function readMessage(incoming: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const { method, headers } = incoming;
  if (method !== "POST") return { fault: `method ${method}` };
  if (headers["content-type"] !== "application/json") {
    return { fault: `content-type ${headers["content-type"]}` };
  }
  try {
    return { message: SlackMessage.parse(JSON.parse(Buffer.concat(chunks).toString())) };
  } catch (error) {
    return { fault: (error as Error).message };
  }
}
