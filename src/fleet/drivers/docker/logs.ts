/** The end of a container's log, as its engine keeps it. */
import type { Readable } from "node:stream";
import { type LogPart, reachEnd } from "#fleet/drivers/calls.ts";
import type { LogCall, LogTail } from "#fleet/drivers/driver.ts";
import { parseJson, readBeginning, readEnd } from "#kernel/body.ts";
import { maxRawLog } from "#kernel/log.ts";
import { type Engine, messageOf } from "./engine.ts";
import type { ContainerInfo } from "./schemas.ts";

/** A line may be of any length: more than this is not read for the last ones. */
const maxRead = 4_194_304;

/** Reads the log of a running or stopped container. The part that came until the signal ended the call counts. */
export function readContainerLog(
  engine: Engine,
  container: ContainerInfo,
  call: LogCall,
): Promise<LogTail> {
  return reachEnd(call, (asked) => readOnce(engine, container, asked));
}

async function readOnce(
  engine: Engine,
  { Id: id, Config: config }: ContainerInfo,
  { lines, signal }: LogCall,
): Promise<LogPart> {
  const { statusCode, body } = await engine.open({
    method: "GET",
    path: `/containers/${encodeURIComponent(id)}/logs`,
    query: { stdout: "1", stderr: "1", tail: String(lines) },
    signal,
  });
  if (statusCode !== 200) {
    const absent = refusalOf(statusCode, await readBeginning(body, 4_096), engine);
    return { tail: { absent }, stop: "end" };
  }
  const output = config["Tty"] === true ? body : payloadsOf(body);
  const { end, stop } = await readEnd(output, { keepBytes: maxRawLog, maxBytes: maxRead });
  return { tail: { text: end.toString() }, stop };
}

function refusalOf(status: number, body: Buffer, { host }: Engine): string {
  if (status === 404 || status === 409) return "the container is not there any more";
  if (status === 401 || status === 403) {
    return `the engine of ${host} answered ${status}: GET of containers/*/logs is not let through`;
  }
  return `the engine of ${host} answered ${status}: ${messageOf(parseJson(body) ?? body.toString())}`;
}

const headerBytes = 8;

/** Without a terminal output comes in frames: which stream, three zeros, the length of what follows. */
export async function* payloadsOf(
  body: Readable | AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void> {
  let header: Buffer = Buffer.alloc(0);
  let left = 0;
  for await (let chunk of body as AsyncIterable<Buffer>) {
    while (chunk.length > 0) {
      if (left > 0) {
        yield chunk.subarray(0, left);
        const taken = Math.min(left, chunk.length);
        left -= taken;
        chunk = chunk.subarray(taken);
        continue;
      }
      const taken = headerBytes - header.length;
      header = Buffer.concat([header, chunk.subarray(0, taken)]);
      chunk = chunk.subarray(taken);
      if (header.length < headerBytes) break;
      left = header.readUInt32BE(4);
      header = Buffer.alloc(0);
    }
  }
}
