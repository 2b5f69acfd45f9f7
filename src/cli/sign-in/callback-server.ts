/** Listens on this machine for the browser, which comes back from the identity provider (RFC 8252, 7.3). */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { portTaken } from "#kernel/listen.ts";

type Callback = {
  /** What the provider has added to the address. */
  query: string;
  /** Shows the person a sentence, and ends the request. */
  answer: (words: string) => void;
};

export type CallbackServer = {
  redirectUri: string;
  /** The first request that belongs to this sign-in. */
  wait: (state: string, signal: AbortSignal) => Promise<Callback>;
  close: () => void;
};

/** undefined: a free port of 127.0.0.1, which providers have to allow; otherwise this port of localhost. */
export async function openCallbackServer(port: number | undefined): Promise<CallbackServer> {
  const waiting = Promise.withResolvers<Callback>();
  let expected: string | undefined;
  let isTaken = false;
  const server = createServer((request, response) => {
    // Any web page may call, with addresses that are none, such as `//`.
    const url = URL.parse(request.url ?? "/", "http://localhost");
    if (request.method !== "GET" || url?.pathname !== "/callback") {
      return sendWords(response, 404, "There is nothing here.");
    }
    // Only the answer to our own question ends the wait.
    if (expected === undefined || url.searchParams.get("state") !== expected || isTaken) {
      return sendWords(response, 400, "This does not belong to the sign-in that waits.");
    }
    isTaken = true;
    waiting.resolve({ query: url.search, answer: (words) => sendWords(response, 200, words) });
  });
  await listen(server, port ?? 0);
  const { port: own } = server.address() as AddressInfo;
  const host = port === undefined ? "127.0.0.1" : "localhost";
  return {
    redirectUri: `http://${host}:${own}/callback`,
    wait: (state, signal) => {
      expected = state;
      signal.addEventListener("abort", () => waiting.reject(signal.reason), { once: true });
      return waiting.promise;
    },
    close: () => server.close(),
  };
}

function listen(server: ReturnType<typeof createServer>, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(error.code === "EADDRINUSE" ? portTaken(port, "--port") : error),
    );
    server.listen(port, "127.0.0.1", resolve);
  });
}

/** Plain text: a name of the provider's is part of it. */
function sendWords(response: ServerResponse, status: number, words: string): void {
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    connection: "close",
  });
  response.end(`${words}\n`);
}
