/**
 * The embedded store: chdb, which is ClickHouse as a library, behind the part of ClickHouse's HTTP
 * interface that we use. It is a process of its own: a heavy query then takes no time from the
 * API's event loop, a crash in native code or a runaway query ends only this process, which is
 * started again, and its memory is its own. Started by `embedded-engine.ts`, with the data directory
 * as argument; the password comes over the channel to the parent, so that no process list shows it.
 */
import { timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setPriority } from "node:os";
import type { Session } from "chdb";
import {
  hardLimitMs,
  maxStatementBytes,
  readerCount,
  readRequest,
  type StatementRequest,
  withSettings,
} from "./http-interface.ts";

export type EmbeddedServerMessage = { port: number } | { absent: string };

/** A session, which runs one statement after the other, and the end of what waits for it. */
type Lane = {
  session: Session;
  open: () => Promise<Session>;
  waiting: number;
  tail: Promise<unknown>;
};
type Engine = { writer: Lane; readers: Lane[] };

type Library = typeof import("chdb");

async function openEngine({ Session }: Library, directory: string): Promise<Engine> {
  const open = async (): Promise<Session> => {
    const session = new Session(directory);
    // Of all settings this one alone comes too late with the statement that it is for.
    await session.queryAsync(`SET max_query_size = ${maxStatementBytes}`);
    return session;
  };
  const openLane = async (): Promise<Lane> => {
    return { session: await open(), open, waiting: 0, tail: Promise.resolve() };
  };
  const writer = await openLane();
  const readers: Lane[] = [];
  while (readers.length < readerCount) readers.push(await openLane());
  return { writer, readers };
}

/**
 * What a statement has given before it failed stays in its session, and would stand before the next
 * one's answer, whoever asks that: a session that has seen a failure is not used again.
 */
async function renew(lane: Lane): Promise<void> {
  try {
    lane.session.close();
    lane.session = await lane.open();
  } catch {
    // Without a session there is nothing to serve with: whoever started this starts it again.
    endNow();
  }
}

/**
 * Not by an exit: that waits for what runs in native code, and so for the very query that is to be ended,
 * while nobody else is answered. What was answered is on disk.
 */
function endNow(): void {
  process.kill(process.pid, "SIGKILL");
}

/** The writer for what is not declared as reading only, else the reader that waits the least. */
function laneFor(engine: Engine, request: StatementRequest): Lane {
  if (!("readonly" in request.settings)) return engine.writer;
  return engine.readers.reduce((best, lane) => (lane.waiting < best.waiting ? lane : best));
}

/** Runs it when its turn comes, unless nobody waits for it any more. */
function enqueue(lane: Lane, work: () => Promise<string>): Promise<string> {
  lane.waiting += 1;
  const result = lane.tail.then(work).finally(() => {
    lane.waiting -= 1;
  });
  lane.tail = result.catch(() => undefined);
  return result;
}

async function execute(lane: Lane, request: StatementRequest): Promise<string> {
  // What the engine's own limit does not end is ended with the process.
  const watchdog = setTimeout(endNow, hardLimitMs(request));
  try {
    if (request.insert === undefined) {
      return (await lane.session.queryAsync(withSettings(request))).text();
    }
    const { body: values, settings } = request;
    await lane.session.insert({ ...request.insert, values, settings });
    return "";
  } catch (error) {
    await renew(lane);
    throw error;
  } finally {
    clearTimeout(watchdog);
  }
}

function isAuthorized(request: IncomingMessage, password: string): boolean {
  const given = Buffer.from(request.headers.authorization ?? "");
  const wanted = Buffer.from(`Basic ${Buffer.from(`default:${password}`).toString("base64")}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

async function answer(engine: Engine, request: IncomingMessage, response: ServerResponse) {
  try {
    const statement = await readRequest(request);
    const lane = laneFor(engine, statement);
    const work = async () => (response.destroyed ? "" : execute(lane, statement));
    response.end(await enqueue(lane, work));
  } catch (error) {
    const code = (error as { clickhouseCode?: number }).clickhouseCode ?? 0;
    response.writeHead(500, { "x-clickhouse-exception-code": String(code) });
    response.end((error as Error).message);
  }
}

function serve(engine: Engine, password: string): Promise<number> {
  const server = createServer((request, response) => {
    if (isAuthorized(request, password)) void answer(engine, request, response);
    else response.writeHead(403).end("Code: 516. DB::Exception: denied. (AUTHENTICATION_FAILED)");
  });
  server.requestTimeout = 60_000;
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

function tell(message: EmbeddedServerMessage): undefined {
  process.send?.(message);
}

async function main(): Promise<void> {
  // The parent is gone, or wants us gone: what was answered is on disk.
  process.once("disconnect", endNow);
  process.on("SIGINT", () => undefined);
  const password = await new Promise<string>((resolve) => process.once("message", resolve));
  const library = await import("chdb").catch((error: Error) => tell({ absent: error.message }));
  if (library === undefined) return;
  // Whoever verifies keys on this machine comes first.
  setPriority(10);
  const engine = await openEngine(library, process.argv[2] ?? "");
  tell({ port: await serve(engine, password) });
}

await main();
