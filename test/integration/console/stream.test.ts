/** The stream of events, to readers who do not read. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type FastifyRequest, fastify } from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { livePath } from "#console/contract.ts";
import type { LiveEvent } from "#console/events.ts";
import type { Guard } from "#console/server/guard.ts";
import { type Live, serveStream } from "#console/server/live.ts";
import { waitFor } from "../../support/wait-for.ts";

type Send = (event: LiveEvent) => void;

/** A stream whose events and whose sessions are the test's to make. */
async function startStream(limits: { recheckMs: number }) {
  const listeners = new Set<Send>();
  let isSignedIn = true;
  let lookUp = async () => {};
  const guard = {
    requireSession: async ({ headers }: FastifyRequest) => {
      await lookUp();
      if (!isSignedIn) throw new Error("signed out");
      return { id: headers.cookie ?? "" };
    },
  } as unknown as Guard;
  const live = {
    listen: (send: Send) => {
      listeners.add(send);
      return () => listeners.delete(send);
    },
    look: () => {},
  } as unknown as Live;
  const app = fastify();
  // As the gateway has one: with it a response gets listeners of the framework's, which end with it.
  app.addHook("onResponse", async () => {});
  serveStream(app, { guard, lives: new Map([["singleton", live]]), ...limits });
  const sockets = new Set<Socket>();
  app.server.on("connection", (socket: Socket) => sockets.add(socket));
  const url = new URL(await app.listen({ host: "127.0.0.1", port: 0 }));
  onTestFinished(() => {
    app.server.closeAllConnections();
    return app.close();
  });
  return {
    listeners,
    tell: (event: LiveEvent) => {
      for (const send of listeners) send(event);
    },
    /** Settles when a connection has closed. */
    nextEnd: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.once("close", resolve);
      }),
    url: `${url.origin}${livePath}`,
    /** What a session's look-up waits for. */
    lookUpAfter: (wait: () => Promise<void>) => {
      lookUp = wait;
    },
    signOut: () => {
      isSignedIn = false;
    },
    /** Somebody who asks for the stream and never reads it. */
    open: async (): Promise<Socket> => {
      const socket = connect(Number(url.port), url.hostname);
      socket.on("error", () => {});
      onTestFinished(() => void socket.destroy());
      await once(socket, "connect");
      socket.pause();
      const before = listeners.size;
      socket.write(`GET ${livePath} HTTP/1.1\r\nhost: x\r\n\r\n`);
      await waitFor(() => listeners.size > before, { withinMs: 10_000, what: "the stream" });
      return socket;
    },
  };
}

/** More than the system keeps for a connection by itself, and less than the stream does. */
const large = { name: "state", data: "x".repeat(7 * 1024 * 1024) } as unknown as LiveEvent;
const small = { name: "beat", data: {} } as unknown as LiveEvent;

it("disconnects a client whose session has ended, even if it reads nothing", async () => {
  const stream = await startStream({ recheckMs: 50 });
  await stream.open();
  stream.tell(large);
  stream.signOut();

  await waitFor(
    () => {
      stream.tell(small);
      return stream.listeners.size === 0;
    },
    { withinMs: 10_000, what: "the reader to be let go of" },
  );

  expect(stream.listeners.size).toBe(0);
});

it("lets go of a reader who is too far behind", async () => {
  const stream = await startStream({ recheckMs: 3_600_000 });
  await stream.open();

  for (let i = 0; i < 4; i += 1) stream.tell(large);

  await waitFor(() => stream.listeners.size === 0, { withinMs: 10_000, what: "the end of it" });
  expect(stream.listeners.size).toBe(0);
});

it("refuses a session's seventeenth stream, and takes it once another has ended", async () => {
  const stream = await startStream({ recheckMs: 3_600_000 });
  const ask = (session: string) => {
    const ending = new AbortController();
    const answer = fetch(stream.url, { headers: { cookie: session }, signal: ending.signal });
    return answer.then(({ status }) => ({ status, end: () => ending.abort() }));
  };
  const first = await Promise.all(Array.from({ length: 16 }, () => ask("mine")));

  const refused = await ask("mine");
  const other = await ask("theirs");
  first[0]?.end();
  await waitFor(() => stream.listeners.size === 16, { withinMs: 10_000, what: "its end" });
  const next = await ask("mine");

  expect(first.map(({ status }) => status)).toEqual(first.map(() => 200));
  expect([refused.status, other.status, next.status]).toEqual([429, 200, 200]);
});

it("keeps no stream for a client that disconnected while the session was checked", async () => {
  const stream = await startStream({ recheckMs: 3_600_000 });
  const lookedUp = Promise.withResolvers<void>();
  let asked = 0;
  stream.lookUpAfter(() => {
    asked += 1;
    return lookedUp.promise;
  });
  const going = new AbortController();
  const gone = fetch(stream.url, { signal: going.signal }).catch(() => "gone");
  await waitFor(() => asked === 1, { withinMs: 10_000, what: "the request" });
  const ended = stream.nextEnd();
  going.abort();
  await Promise.all([gone, ended]);

  lookedUp.resolve();
  await fetch(new URL("/", stream.url));

  expect(stream.listeners.size).toBe(0);
});

it("is not at the address of pages that know other events: they say that they are not live", async () => {
  const { url } = await startStream({ recheckMs: 3_600_000 });

  const { status } = await fetch(new URL("/api/live", url));

  expect(status).toBe(404);
});
