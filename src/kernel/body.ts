/** Bodies of requests and answers, read within a limit. */

type Body = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** The whole of it; undefined when it has more than `maxBytes`: it is then read no further. */
export async function readBody(body: Body, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** At most its first `maxBytes`; of one that breaks off what came before. Never throws. */
export async function readBeginning(body: Body, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.byteLength;
      if (bytes >= maxBytes) break;
    }
  } catch {
    // What came before it broke off is all there is.
  }
  return Buffer.concat(chunks).subarray(0, maxBytes);
}

/** Whether it begins as HTML does: proxies and logins answer people so, in the place of a service. */
export function isPage(text: string): boolean {
  return page.test(text);
}

const page = /^\s*<(?:!doctype\b|!--|\?xml\b|html\b|head\b|body\b)/i;
