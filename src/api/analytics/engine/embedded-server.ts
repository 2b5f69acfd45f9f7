/**
 * The embedded store: chdb, which is ClickHouse as a library, behind the part of ClickHouse's HTTP
 * interface that we use. It is a separate process: a heavy query then takes no time from the API's event
 * loop, a crash in native code or a runaway query ends only this process, which is restarted, and its
 * memory is its own. Started by `embedded-engine.ts`, with the data directory
 * as argument; the password is sent over the channel to the parent, so that no process list shows it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setPriority } from "node:os";
import type { Session } from "chdb";
import { isSameSecret } from "#kernel/same-secret.ts";
import {
  hardLimitMs,
  maxStatementBytes,
  readerCount,
  readRequest,
  type StatementRequest,
  withSettings,
} from "./http-interface.ts";

export type EmbeddedServerMessage = { port: number } | { absent: string };

/** A session, which runs one statement after the other, and the last promise of its queue. */
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
    // The only setting that takes no effect when it is sent with its statement.
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

/** Replaces the session after a failure: the failed statement's output would be prepended to the next one's result. */
async function renew(lane: Lane): Promise<void> {
  try {
    lane.session.close();
    lane.session = await lane.open();
  } catch {
    // Without a session it cannot serve: the parent restarts the process.
    endNow();
  }
}

/** By a signal: `process.exit` waits for native code, and so for the very query. Confirmed inserts are on disk. */
function endNow(): void {
  process.kill(process.pid, "SIGKILL");
}

/** The writer, unless the statement is declared read-only; then the reader with the shortest queue. */
function laneFor(engine: Engine, request: StatementRequest): Lane {
  if (!("readonly" in request.settings)) return engine.writer;
  return engine.readers.reduce((best, lane) => (lane.waiting < best.waiting ? lane : best));
}

/** Runs `work` after those that are queued in the lane. */
function enqueue(lane: Lane, work: () => Promise<string>): Promise<string> {
  lane.waiting += 1;
  const result = lane.tail.then(work).finally(() => {
    lane.waiting -= 1;
  });
  lane.tail = result.catch(() => undefined);
  return result;
}

async function execute(lane: Lane, request: StatementRequest): Promise<string> {
  // A statement that exceeds the engine's own time limit is ended with the process.
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
  const wanted = `Basic ${Buffer.from(`default:${password}`).toString("base64")}`;
  return isSameSecret(request.headers.authorization ?? "", wanted);
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

function whatToDo({ message }: Error): string {
  return `install it beside Vedette (npm install chdb@3), or set clickhouse.url: ${message}`;
}

function send(message: EmbeddedServerMessage): undefined {
  process.send?.(message);
}

async function main(): Promise<void> {
  // The parent has ended, or stops this process: confirmed inserts are on disk.
  process.once("disconnect", endNow);
  process.on("SIGINT", () => undefined);
  const password = await new Promise<string>((resolve) => process.once("message", resolve));
  const library = await import("chdb").catch((error: Error) => send({ absent: whatToDo(error) }));
  if (library === undefined) return;
  // Verifying keys on this machine has priority.
  setPriority(10);
  const engine = await openEngine(library, process.argv[2] ?? "");
  send({ port: await serve(engine, password) });
}

await main();
