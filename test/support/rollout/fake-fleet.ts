/** A fleet behind the `http` driver's protocol, in this process: it outlives the program under test. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import { imageV1 } from "./rollout-builders.ts";

/** What comes of one deploy: after so long ready, or failed; `hang` stays progressing for ever. */
export type FleetOutcome =
  | { readyAfterMs: number }
  /** `serves`: what the fleet says of it then; absent: it does not say. */
  | { failAfterMs: number; reason: string; serves?: "nothing" | "previous" }
  | "hang";

type Deploy = { id: string; startedAtMs: number; outcome: FleetOutcome };

type Member = {
  id: string;
  region: string;
  image: string;
  running: string;
  deploy?: Deploy;
  /** True until its next deploy: it lists itself as unhealthy. */
  isDown?: boolean;
};

type FleetPut = { id: string; image: string; deployId: string; atMs: number };

type FakeFleetOptions = {
  size: number;
  token?: string;
  /** 0, as by default, takes a free one. */
  port?: number;
  behave?: (id: string, image: string) => FleetOutcome;
  /** By which name it answers of an image; without it by that of the order. */
  nameImage?: (image: string) => string;
  /** Returns what a sentinel has counted; without it the fleet reports nothing. */
  readMetrics?: (id: string, image: string) => object;
  /** The log of what a deploy has started, or of what runs; without it the fleet has none, as most have. */
  readLog?: (id: string, deployId: string | null) => string | undefined;
};

const PutBody = z.strictObject({ image: z.string().min(1), deploy_id: z.string().min(1) });

export type FakeFleet = Awaited<ReturnType<typeof startFakeFleet>>;

export async function startFakeFleet(options: FakeFleetOptions) {
  const { size, token = "fleet-token", port: wanted = 0, nameImage = (image) => image } = options;
  let behave = options.behave ?? ((): FleetOutcome => ({ readyAfterMs: 0 }));
  const members = new Map<string, Member>();
  const puts: FleetPut[] = [];
  let isListHeld = false;
  let heldLists = 0;
  // Pages go by the order of ids.
  const digits = Math.max(4, String(size).length);
  for (let i = 1; i <= size; i++) {
    const id = `gw-${String(i).padStart(digits, "0")}`;
    const region = ["eu", "us", "ap"][i % 3] ?? "";
    members.set(id, { id, region, image: imageV1, running: imageV1 });
  }

  const put = (member: Member, { image, deploy_id }: z.infer<typeof PutBody>) => {
    puts.push({ id: member.id, image, deployId: deploy_id, atMs: Date.now() });
    if (member.deploy?.id === deploy_id) return;
    member.isDown = false;
    member.image = nameImage(image);
    const outcome = behave(member.id, image);
    member.deploy = { id: deploy_id, startedAtMs: Date.now(), outcome };
  };

  const answerList = (url: URL, outgoing: ServerResponse) => {
    if (isListHeld) heldLists++;
    else answer(outgoing, 200, page(members, url, options.readMetrics));
  };

  const answerLog = ({ pathname, searchParams }: URL, outgoing: ServerResponse) => {
    const id = decodeURIComponent(pathname.split("/")[2] ?? "");
    const log = options.readLog?.(id, searchParams.get("deploy_id"));
    if (log === undefined) return answer(outgoing, 404);
    outgoing.writeHead(200, { "content-type": "text/plain" }).end(log);
  };

  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    if (incoming.headers.authorization !== `Bearer ${token}`) return answer(outgoing, 401);
    const url = new URL(incoming.url ?? "/", "http://fleet");
    if (url.pathname === "/sentinels") return answerList(url, outgoing);
    if (url.pathname.endsWith("/log")) return answerLog(url, outgoing);
    const member = members.get(decodeURIComponent(url.pathname.replace("/sentinels/", "")));
    if (member === undefined) return answer(outgoing, 404);
    if (incoming.method === "GET") return answer(outgoing, 200, report(member));
    put(member, PutBody.parse(await readBody(incoming)));
    return answer(outgoing, 202);
  };

  const server = createServer((incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => answer(outgoing, 400));
  });
  server.listen(wanted, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    token,
    /** The settings of a fleet that is this one, by the start of their names. */
    environment: (prefix = "VEDETTE_FLEET") => ({
      [`${prefix}__DRIVER`]: "http",
      [`${prefix}__HTTP__URL`]: url,
      [`${prefix}__HTTP__TOKEN`]: token,
    }),
    puts,
    behave: (decide: typeof behave) => {
      behave = decide;
    },
    /** Whether to leave whoever asks for the list without an answer. */
    holdList: (isHeld: boolean) => {
      isListHeld = isHeld;
      heldLists = 0;
    },
    isAskedForList: () => heldLists > 0,
    /** Somebody else has changed it: it runs this image from now on, or nothing. A new id: it has joined. */
    change: (id: string, image: string) => {
      const member = members.get(id) ?? { id, region: "eu" };
      members.set(id, { ...member, image, running: image, isDown: image === "" });
      delete members.get(id)?.deploy;
    },
    /** It is unhealthy until its next deploy. */
    sicken: (id: string) => {
      const member = members.get(id);
      if (member !== undefined) member.isDown = true;
    },
    /** The fleet does not list it any more. */
    remove: (id: string) => members.delete(id),
    running: () =>
      new Map([...members.values()].map((member) => [member.id, report(member).running_image])),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function page(
  members: Map<string, Member>,
  url: URL,
  readMetrics?: FakeFleetOptions["readMetrics"],
) {
  const limit = Number(url.searchParams.get("limit") ?? 100);
  const cursor = url.searchParams.get("cursor") ?? "";
  const later = [...members.values()].filter(({ id }) => id > cursor);
  const rest = later.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const sentinels = rest.slice(0, limit).map((member) => {
    const { id, region, image } = member;
    const { running_image, healthy = true } = report(member);
    const isWell = healthy && member.isDown !== true;
    const labels = { tier: id === "gw-0001" ? "canary" : "stable" };
    const metrics = readMetrics?.(id, running_image);
    return { id, region, image, running_image, healthy: isWell, labels, metrics };
  });
  return rest.length > limit ? { sentinels, next_cursor: sentinels.at(-1)?.id } : { sentinels };
}

type Report = {
  id: string;
  region: string;
  image: string;
  running_image: string;
  status: string;
  reason?: string;
  healthy?: boolean;
};

/** Settles a deploy whose time has come, and tells how the sentinel is. */
function report(member: Member): Report {
  const { id, region, image, deploy } = member;
  const base = { id, region, image };
  if (deploy === undefined) return { ...base, running_image: member.running, status: "ready" };
  const { outcome } = deploy;
  const agedMs = Date.now() - deploy.startedAtMs;
  if (outcome !== "hang" && "readyAfterMs" in outcome && agedMs >= outcome.readyAfterMs) {
    member.running = image;
    return { ...base, running_image: image, status: "ready" };
  }
  if (outcome !== "hang" && "failAfterMs" in outcome && agedMs >= outcome.failAfterMs) {
    const { reason, serves } = outcome;
    const isDown = serves === "nothing";
    return {
      ...base,
      running_image: isDown ? "" : member.running,
      status: "failed",
      reason,
      ...(serves !== undefined && { healthy: !isDown }),
    };
  }
  return { ...base, running_image: member.running, status: "progressing" };
}

function answer(outgoing: ServerResponse, status: number, body?: unknown): void {
  outgoing.writeHead(status, { "content-type": "application/json" });
  outgoing.end(body === undefined ? "" : JSON.stringify(body));
}

async function readBody(incoming: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString());
}
