import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { z } from "zod";
import { ask, type Question, refusalOf } from "#cli/answer.ts";
import { complain } from "#cli/print.ts";
import type { Secret } from "#cli/token.ts";
import { BeginAnswer, SessionAnswer, signInPath } from "#control/sign-in/contract.ts";
import { portTaken } from "#kernel/server.ts";

/** `under`: another address than those that sign in. Throws `ProblemError`, or `ConnectionError`. */
export async function askControl<Schema extends z.ZodType>(
  url: string,
  { under = signInPath, ...question }: Question & { under?: string },
  schema: Schema,
): Promise<z.infer<Schema>> {
  const path = `${under}/${question.path}`;
  const { status, body = null } = await ask(url, { ...question, path });
  if (status >= 300) throw refusalOf(url, { status, body }, "sign_in_unavailable");
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new Error("the answer is not from Vedette: is the address that of control?");
}

type BrowserOptions = { port: number | undefined; opensBrowser: boolean };

/** Throws when nobody has signed in before `control` forgets the attempt. */
export async function signInByBrowser(
  url: string,
  secret: Secret,
  { port, opensBrowser }: BrowserOptions,
): Promise<SessionAnswer> {
  const server = await openCallbackServer(port);
  try {
    const body = { redirect_uri: server.redirectUri, challenge: secret.challenge };
    const begun = await askControl(url, { method: "POST", path: "begin", body }, BeginAnswer);
    const { provider, authorization_url: address } = begun;
    complain(
      `To sign in at ${provider}, open this address in a browser on this machine:\n\n${address}\n`,
    );
    if (opensBrowser && process.stderr.isTTY === true) void openBrowser(address);
    return await finish(server, { url, secret, begun });
  } finally {
    server.close();
  }
}

type Attempt = { url: string; secret: Secret; begun: BeginAnswer };

async function finish(
  server: CallbackServer,
  { url, secret, begun }: Attempt,
): Promise<SessionAnswer> {
  const { state, flow, expires_in } = begun;
  const late = new AbortController();
  const tooLate = new Error(`nobody has signed in within ${Math.round(expires_in / 60)} minutes`);
  const timer = setTimeout(() => late.abort(tooLate), expires_in * 1_000);
  try {
    const { query, answer } = await server.wait(state, late.signal);
    const body = { flow, verifier: secret.verifier, query };
    const asked = askControl(url, { method: "POST", path: "finish", body }, SessionAnswer);
    const signedIn = await asked.catch((error: Error) => {
      answer(`You are not signed in. ${error.message}`);
      throw error;
    });
    answer(`You are signed in as ${signedIn.actor}. Close this page, and go back to the terminal.`);
    return signedIn;
  } finally {
    clearTimeout(timer);
  }
}

/** False: the machine has no program for that. All users of the machine can read the address while it starts. */
export function openBrowser(address: string): Promise<boolean> {
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const child = spawn(program, [address], { stdio: "ignore", detached: true });
  child.unref();
  return once(child, "spawn").then(
    () => true,
    () => false,
  );
}

type Callback = {
  /** The parameters that the provider has added to the address. */
  query: string;
  /** Shows the person a sentence, and ends the request. */
  answer: (words: string) => void;
};

/** Listens on this machine for the browser, which comes back from the identity provider (RFC 8252, 7.3). */
type CallbackServer = {
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
