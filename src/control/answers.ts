/** The calls that a server is answering, so that it closes after them. */
import type { Server, ServerResponse } from "node:http";

/** More than a call takes that does not block; a supervisor waits longer before it kills. */
const graceMs = 5_000;

export type Answers = {
  /** Takes no connection any more. Resolves when what is short has been answered, after 5 s at the latest. */
  finish: (withinMs?: number) => Promise<void>;
};

/** `isLong`: of a path, whether its answer may take hours. What is long is not waited for. */
export function noteAnswers(server: Server, isLong: (path: string) => boolean): Answers {
  const open = new Set<ServerResponse>();
  let noteEmpty = () => {};
  server.on("request", ({ url = "" }, response) => {
    if (isLong(url.split("?", 1)[0] ?? "")) return;
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
