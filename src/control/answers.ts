/** The calls that a server is answering, so that it closes after them. */
import type { Server, ServerResponse } from "node:http";

/** More than a call takes that does not block; a supervisor waits longer before it kills. */
const graceMs = 5_000;

export type Answers = {
  /** Takes no connection any more. Resolves when what is short has been answered, after 5 s at the latest. */
  finish: (withinMs?: number) => Promise<void>;
};

/** Longer than any short call takes: who is silent for so long does not read what it is sent. */
const silenceMs = 80_000;

type AnswerSettings = {
  /** Of a path, whether its answer may take hours. What is long is not waited for. */
  isLong: (path: string) => boolean;
  /** Absent: the default. */
  silenceMs?: number | undefined;
};

/** Also cuts off who does not read a short answer: nothing else would end such a connection. */
export function noteAnswers(server: Server, watched: AnswerSettings): Answers {
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
