/** `GET|POST|HEAD /<PING_TOKEN>`, with `/start`, `/fail` or `/<exit code>`: how a job says that it ran. */
import { createHash } from "node:crypto";
import type { Log } from "#kernel/log.ts";
import { patience, sendToRestate } from "#kernel/restate-send.ts";
import type { Ping } from "#monitor/contract.ts";
import type { PingCall } from "#monitor/internal.ts";
import { heartbeatService } from "#monitor/operations/contract.ts";
import type { Inbox } from "./inbox.ts";

/** The answer to a ping; null: the address is none of a ping. */
export type TakePing = (
  method: string,
  path: string,
) => Promise<{ status: number; body: string } | null>;

/** Tells the heartbeat's object. Throws when it cannot be told within a few seconds. */
export type SendPing = (id: string, ping: PingCall) => Promise<void>;

type Parts = { inbox: Inbox; tell: SendPing; log: Log; nowMs: () => number };

/** 32 bytes in base64url. */
const address = /^\/([\w-]{43})(?:\/(start|fail|\d{1,3}))?\/?$/;

/** What was cut or misspelt is told that there is nothing, as any other wrong token is. */
const nearAddress = /^\/[\w-]{20,}(?:\/|$)/;

export function isPingPath(path: string): boolean {
  return nearAddress.test(path);
}

export function createTakePing({ inbox, tell, log, nowMs }: Parts): TakePing {
  return async (method, path) => {
    const [, token, suffix] = address.exec(path) ?? [];
    if (token === undefined) return null;
    if (!["GET", "POST", "HEAD"].includes(method)) return { status: 405, body: "use GET\n" };
    const hash = createHash("sha256").update(token).digest("hex");
    const ping = readPing(suffix, nowMs());
    try {
      const isKnown =
        ping.kind === "success"
          ? await receive(hash, ping, { inbox, tell, log })
          : await pass(hash, ping, { inbox, tell });
      return isKnown ? { status: 200, body: "ok\n" } : { status: 404, body: "not found\n" };
    } catch (error) {
      log.error({ detail: (error as Error).message }, "ping not taken");
      return { status: 503, body: "try again\n" };
    }
  };
}

function readPing(suffix: string | undefined, atMs: number): Ping {
  if (suffix === "start") return { kind: "start", atMs };
  if (suffix === "fail") return { kind: "fail", atMs, exitCode: null };
  const exitCode = Number(suffix ?? 0);
  return exitCode === 0 ? { kind: "success", atMs } : { kind: "fail", atMs, exitCode };
}

/** Kept before it is answered. The object finds it by itself should it not be told. */
async function receive(
  token: string,
  ping: Ping,
  { inbox, tell, log }: Omit<Parts, "nowMs">,
): Promise<boolean> {
  const recipient = await inbox.receive({ token, atMs: ping.atMs });
  if (recipient?.isWatched === true) {
    const { id } = recipient;
    await tell(id, ping).catch((error) =>
      log.warn({ heartbeat: id, detail: (error as Error).message }, "ping told later"),
    );
  }
  return recipient !== null;
}

/** Nothing but the object keeps a start or a failure; the pings that follow it are told after it. */
async function pass(
  token: string,
  ping: Ping,
  { inbox, tell }: Pick<Parts, "inbox" | "tell">,
): Promise<boolean> {
  const recipient = await inbox.announce({ token, atMs: ping.atMs });
  if (recipient === null) return false;
  await tell(recipient.id, { ...ping, heardAtMs: recipient.lastPingAtMs });
  return true;
}

/** Over Restate's own ingress. A notice that comes twice changes nothing. */
export function createSendPing(ingressUrl: string): SendPing {
  return (id, ping) =>
    sendToRestate(`${ingressUrl}/${heartbeatService}/${id}/ping`, ping, patience.caller);
}
