/** A control gateway that plays a rollout from a script: each Status is the next scene. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { RolloutStatus } from "#rollout/contract.ts";

export type FakeControl = Awaited<ReturnType<typeof startFakeControl>>;

type Call = { handler: string; body: Record<string, unknown>; headers: IncomingHttpHeaders };

/** An answer; a connection that breaks; or one that stays open without one. */
type Reply = { status: number; body: unknown } | "reset" | "hang";

export const fakeImage = "registry.example.com/vedette/sentinel:v2";

export function buildStatus(over: Partial<RolloutStatus> = {}): RolloutStatus {
  return {
    rollout_id: "r-2",
    state: "in_progress",
    image: fakeImage,
    current_wave: 1,
    total_waves: 2,
    total: 10,
    succeeded: 0,
    failed: 0,
    in_flight: 0,
    failed_sentinels: [],
    started_at: "2026-01-01T00:00:00.000Z",
    updated_at: "2026-01-01T00:00:00.000Z",
    ...over,
  };
}

/** The rollout that was there before. */
const before = buildStatus({
  rollout_id: "r-1",
  state: "completed",
  image: "registry.example.com/x:v1",
});

export async function startFakeControl() {
  const calls: Call[] = [];
  /** What a handler answers next, before the play goes on. */
  const replies = new Map<string, (Reply | Promise<Reply>)[]>();
  let scenes: RolloutStatus[] = [];
  let now: RolloutStatus = before;
  let end:
    | { promise: Promise<RolloutStatus>; resolve: (status: RolloutStatus) => void }
    | undefined;

  const begin = () => {
    end ??= Promise.withResolvers<RolloutStatus>();
    return end.promise;
  };
  const status = () => {
    if (end === undefined) return now;
    now = scenes.shift() ?? now;
    if (scenes.length === 0 && !/in_progress|rolling_back/.test(now.state)) end.resolve(now);
    return now;
  };
  const perform = async (handler: string): Promise<Reply> => {
    const reply = replies.get(handler)?.shift();
    if (reply !== undefined) return reply;
    if (handler === "Status") return { status: 200, body: status() };
    return { status: 200, body: await begin() };
  };

  const server = createServer(async (incoming, outgoing) => {
    const handler = incoming.url?.split("/").at(-1) ?? "";
    const body = JSON.parse(await readText(incoming)) as Record<string, unknown>;
    calls.push({ handler, body, headers: incoming.headers });
    const reply = await perform(handler);
    if (reply === "hang") return;
    if (reply === "reset") incoming.socket.resetAndDestroy();
    else
      outgoing
        .writeHead(reply.status, { "content-type": "application/json" })
        .end(JSON.stringify(reply.body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}`,
    token: "the-ingress-token",
    calls,
    callsOf: (handler: string) => calls.filter((call) => call.handler === handler),
    /** What there is before the next call begins something. */
    stand: (over: Partial<RolloutStatus>) => {
      now = buildStatus(over);
    },
    /** What Status shows, one scene a time, once Rollout, Resume or RollbackAll was called; they answer the last. */
    play: (...wanted: Partial<RolloutStatus>[]) => {
      scenes = wanted.map((over) => buildStatus(over));
    },
    /** What a handler answers the next times, instead of its part in the play. */
    reply: (handler: string, ...wanted: (Reply | Promise<Reply>)[]) => {
      replies.set(handler, wanted);
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A refusal as the gateway words it. */
export function refusal(status: number, detail: string): Reply {
  return { status, body: { status, detail, message: detail, code: "x", title: "x", type: "x" } };
}

async function readText(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString() || "{}";
}
