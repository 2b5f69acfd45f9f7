/** Tracks the responses that a server has not finished, so that closing waits for them. */
import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { pathOf } from "#kernel/server.ts";

/** Longer than a call takes that does not block; shorter than a supervisor waits before it kills. */
const graceMs = 5_000;

export type OpenResponses = {
  /** Accepts no more connections. Resolves when all short responses are finished, after 5 s at the latest. */
  finish: (withinMs?: number) => Promise<void>;
};

/** Longer than any short call takes: a connection that is idle for so long does not read its response. */
const silenceMs = 80_000;

type TrackingSettings = {
  /** True if the response at a path may take hours. Closing does not wait for such a response. */
  isLong: (path: string) => boolean;
  /** Longest silence of a connection during a short response. Absent: the default. */
  silenceMs?: number | undefined;
};

/** Also closes connections that do not read a short response: nothing else would end them. */
export function trackResponses(server: Server, watched: TrackingSettings): OpenResponses {
  let onEmpty = () => {};
  const open = createOpenCount(() => onEmpty());
  server.on("request", (request, response) => {
    const { socket } = request;
    const isLong = watched.isLong(pathOf(request));
    socket.setTimeout(isLong ? 0 : (watched.silenceMs ?? silenceMs));
    if (!isLong && !socket.destroyed) open.add(socket, response);
  });
  return {
    finish: async (withinMs = graceMs) => {
      if (server.listening) server.close();
      if (open.count() === 0) return;
      const done = Promise.withResolvers<void>();
      onEmpty = done.resolve;
      const timer = setTimeout(done.resolve, withinMs);
      await done.promise;
      clearTimeout(timer);
    },
  };
}

/** Disconnects a response that takes long once `find` answers undefined: its caller has signed out. */
export function endWithCaller(response: ServerResponse, find: () => Promise<unknown>): void {
  const timer = setInterval(async () => {
    // While nobody can say, it goes on.
    if ((await find().catch(() => null)) === undefined) response.destroy();
    if (response.destroyed) clearInterval(timer);
  }, 5_000).unref();
  response.once("close", () => clearInterval(timer));
}

/** On Node 22 a response that waits behind another one on its connection does not close with the connection. */
function createOpenCount(onEmpty: () => void) {
  let count = 0;
  const bySocket = new WeakMap<Socket, Set<ServerResponse>>();
  const forget = (responses: Set<ServerResponse>, response: ServerResponse) => {
    if (!responses.delete(response)) return;
    count -= 1;
    if (count === 0) onEmpty();
  };
  const responsesOf = (socket: Socket) => {
    const known = bySocket.get(socket);
    if (known !== undefined) return known;
    const responses = new Set<ServerResponse>();
    bySocket.set(socket, responses);
    socket.once("close", () => {
      for (const response of responses) forget(responses, response);
    });
    return responses;
  };
  return {
    count: () => count,
    add(socket: Socket, response: ServerResponse) {
      const responses = responsesOf(socket);
      responses.add(response);
      count += 1;
      response.once("close", () => forget(responses, response));
    },
  };
}
