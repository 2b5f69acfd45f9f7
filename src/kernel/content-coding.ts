/** Decodes bodies of HTTP messages by their `Content-Encoding` (RFC 9110, section 8.4). */
import { pipeline, type Transform } from "node:stream";
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from "node:zlib";

/** The body is not what its content codings say; the message is for people. */
export class ContentCodingError extends Error {
  readonly code = "ERR_CONTENT_CODING";
}

type Bytes = AsyncIterable<Uint8Array>;

/** Decoders by name. `firstByte` is that of the coded body. */
const decoders: Record<string, (firstByte: number) => Transform> = {
  gzip: () => createGunzip(),
  "x-gzip": () => createGunzip(),
  // Some servers leave the header of zlib out; its first byte names the method, 8.
  deflate: (firstByte) => ((firstByte & 0x0f) === 8 ? createInflate() : createInflateRaw()),
  br: () => createBrotliDecompress(),
  // A window of 8 MB, which is the largest one on the web (RFC 9659).
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: 23 } }),
};

/** Limit of codings: nobody sends more, and each costs memory. */
const mostCodings = 5;

/** The content codings of a body in the order in which they were applied; of a plain body none. */
export function codingsOf(header: string | string[] | undefined): string[] {
  const names = [header ?? []].flat().join(",").toLowerCase().split(",");
  return names.map((name) => name.trim()).filter((name) => name !== "" && name !== "identity");
}

/** The name of the first coding that `decodeBody` does not know. */
export function findUnknown(codings: readonly string[]): string | undefined {
  return codings.find((name) => !Object.hasOwn(decoders, name));
}

/** As it is for an unknown coding. Throws `ContentCodingError`, the body's errors, or undici's for over `maxBytes`. */
export function decodeBody(
  body: Bytes,
  { codings, maxBytes }: { codings: readonly string[]; maxBytes: number },
): Bytes {
  if (findUnknown(codings) !== undefined) return body;
  if (codings.length > mostCodings) {
    throw new ContentCodingError(`the answer has more than ${mostCodings} content codings`);
  }
  return codings.reduceRight<Bytes>((source, coding) => undo(source, { coding, maxBytes }), body);
}

type Coded = { coding: string; maxBytes: number };

async function* undo(body: Bytes, { coding, maxBytes }: Coded): AsyncGenerator<Uint8Array> {
  const iterator = body[Symbol.asyncIterator]();
  let first = await iterator.next();
  while (!first.done && first.value.length === 0) first = await iterator.next();
  // An answer to HEAD, a 304, or one of a server that compresses all but what is empty.
  if (first.done) return;
  const decoder = decoders[coding]?.(first.value[0] ?? 0) as Transform;
  let bodyError: unknown;
  const source = async function* () {
    try {
      yield first.value;
      yield* { [Symbol.asyncIterator]: () => iterator };
    } catch (error) {
      bodyError = error;
      throw error;
    }
  };
  pipeline(source, decoder, () => {});
  let bytes = 0;
  try {
    for await (const chunk of decoder as Bytes) {
      bytes += chunk.length;
      if (bytes > maxBytes)
        throw Object.assign(new Error("the content exceeds its max size"), {
          code: "UND_ERR_RES_EXCEEDED_MAX_SIZE",
        });
      yield chunk;
    }
  } catch (error) {
    if (error === bodyError || bytes > maxBytes) throw error;
    const message = `the answer's body is broken ${coding}, or ends too early`;
    throw new ContentCodingError(message, { cause: error });
  }
}
