/** A control gateway that simulates one rollout from a script, for programs that call it by HTTP. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { targetOfPath } from "#kernel/actor.ts";

export const image = "registry.example.com/vedette/sentinel:v2";
export const token = "the-ingress-token";

type Scene = {
  state: string;
  succeeded?: number;
  failed?: number;
  total?: number;
  outcome?: string;
  reason?: string;
  image?: string;
  rollout_id?: string;
  standing?: { text: string; brief: string; down: number; failed_on_image: number }[];
  not_reverted?: { id: string; reason: string }[];
  still_ordered_count?: number;
};
type Call = { fleet: string; handler: string; body: unknown; headers: IncomingHttpHeaders };
/** An answer, or a broken connection. */
export type Reply = { status: number; body: unknown } | "break";

type Script = {
  /** The answers of Status before anything is called. */
  before?: Scene[];
  /** The answers of Status after Rollout was called, one each time; the blocking call returns the last. */
  scenes: Scene[];
  /** The same after RollbackAll. */
  rollback?: Scene[];
  /** The blocking call fails while the rollout itself continues. */
  isCallKilled?: boolean;
  /** It stands for Restate behind a real control, which has checked the token. */
  isBehind?: boolean;
  /** The first answers of a handler, before it follows the script. */
  replies?: Record<string, Reply[]>;
};

const failedSentinels = [{ id: "s|1", reason: "crash_loop: exit\ncode 1" }];

export async function startScriptedControl(script: Script) {
  const { before = [], scenes, rollback = [], replies = {}, isCallKilled = false } = script;
  const { isBehind = false } = script;
  const calls: Call[] = [];
  let left: Scene[] = [...before];
  let rolloutId = "r-1";
  let now: Scene = { state: "completed", succeeded: 4 };
  let end = Promise.withResolvers<void>();

  const statusOf = (scene: Scene) => ({
    rollout_id: rolloutId,
    image: rolloutId === "r-1" ? "registry.example.com/vedette/sentinel:v1" : `${image}@sha256:0`,
    current_wave: 1,
    total_waves: 2,
    total: 4,
    succeeded: 0,
    failed: 0,
    in_flight: 0,
    failed_sentinels: (scene.failed ?? 0) > 0 ? failedSentinels : [],
    ...scene,
  });
  const play = (wanted: Scene[]) => {
    left = [...wanted];
    end = Promise.withResolvers();
  };
  const look = (): Reply => {
    now = left.shift() ?? now;
    if (left.length === 0) end.resolve();
    return { status: 200, body: statusOf(now) };
  };
  const block = async (): Promise<Reply> => {
    if (isCallKilled) return refuse(500, "killed");
    await end.promise;
    return { status: 200, body: statusOf(now) };
  };
  const begin = (handler: string) => {
    if (handler === "Rollout") rolloutId = "r-2";
    play(handler === "Rollout" ? scenes : rollback);
    return block();
  };
  /** By idempotency key: a repeated call gets the answer of the first. */
  const begun = new Map<unknown, Promise<Reply>>();
  const perform = async ({ handler, headers }: Call): Promise<Reply> => {
    const isKnown = isBehind || headers.authorization === `Bearer ${token}`;
    if (!isKnown) return refuse(401, "no");
    const reply = replies[handler]?.shift();
    if (reply !== undefined) return reply;
    if (handler === "Status") return look();
    if (handler === "Cancel") return { status: 200, body: statusOf({ state: "cancelled" }) };
    const key = headers["idempotency-key"];
    const made = begun.get(key) ?? begin(handler);
    begun.set(key, made);
    return made;
  };

  const server = createServer(async (incoming: IncomingMessage, outgoing) => {
    // A control before it asks for a sign of life during a long call.
    if (incoming.url === "/restate/health") return void outgoing.end("{}");
    const [, fleet = "", handler = ""] = (targetOfPath(incoming.url ?? "") ?? "").split("/");
    const call = {
      fleet,
      handler,
      body: JSON.parse(await text(incoming)),
      headers: incoming.headers,
    };
    calls.push(call);
    const reply = await perform(call);
    if (reply === "break") {
      incoming.socket.resetAndDestroy();
      return;
    }
    outgoing.writeHead(reply.status, { "content-type": "application/json" });
    outgoing.end(typeof reply.body === "string" ? reply.body : JSON.stringify(reply.body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    callsOf: (handler: string) => calls.filter((call) => call.handler === handler),
  };
}

/** A refusal as the gateway words it. */
export function refuse(status: number, detail: string): Reply {
  return { status, body: { status, detail } };
}
