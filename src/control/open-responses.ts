/** Tracks the responses that a server has not finished, so that closing waits for them. */
import type { Server, ServerResponse } from "node:http";

/** Longer than a call takes that does not block; shorter than a supervisor waits before it kills. */
const graceMs = 5_000;

export type OpenResponses = {
  /** Accepts no more connections. Resolves when all short responses are finished, after 5 s at the latest. */
  finish: (withinMs?: number) => Promise<void>;
};

/** Longer than any short call takes: a connection that is idle for so long does not read its response. */
const silenceMs = 80_000;

type TrackingSettings = {
  /** Whether the response at a path may take hours. Closing does not wait for such a response. */
  isLong: (path: string) => boolean;
  /** How long a connection may be idle during a short response. Absent: the default. */
  silenceMs?: number | undefined;
};

/** Also closes connections that do not read a short response: nothing else would end them. */
export function trackResponses(server: Server, watched: TrackingSettings): OpenResponses {
  const open = new Set<ServerResponse>();
  let noteEmpty = () => {};
  server.on("request", ({ url = "", socket }, response) => {
    const isLong = watched.isLong(url.split("?", 1)[0] ?? "");
    socket.setTimeout(isLong ? 0 : (watched.silenceMs ?? silenceMs));
    if (isLong) return;
    open.add(response);
    response.once("close", () => {
      open.delete(response);
      if (open.size === 0) noteEmpty();
    });
  });
  return {
    finish: async (withinMs = graceMs) => {
      if (server.listening) server.close();
      if (open.size === 0) return;
      const done = Promise.withResolvers<void>();
      noteEmpty = done.resolve;
      const timer = setTimeout(done.resolve, withinMs);
      await done.promise;
      clearTimeout(timer);
    },
  };
}
