/**
 * A limit for the number of values in a body's JSON: each becomes an object, so that six megabytes of empty
 * lists take seconds to parse.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { unreadableBody } from "#api/http/answering.ts";
import { readRequestBody } from "#kernel/body.ts";

/** A megabyte of metadata, or ten megabytes of keys to migrate, have fewer. */
const maxValues = 500_000;

/**
 * Parses bodies by Fastify's own parser, unless they have too many values. Metadata may have any names,
 * "__proto__" too: it is plain data after parsing, and schemas refuse it everywhere else.
 */
export function boundBodies(app: FastifyInstance, maxBytes: number): void {
  const parse = app.getDefaultJsonParser("ignore", "ignore");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", (request: FastifyRequest, payload, done) => {
    // No key is asked for there.
    if (request.is404) return done(null);
    readRequestBody(payload, maxBytes).then((body) => {
      if (hasTooManyValues(body)) done(tooManyValues(request));
      else void parse(request, body.toString(), done);
    }, done);
  });
}

function tooManyValues({ routeOptions: { url = "" } }: FastifyRequest) {
  const message = `more than ${maxValues} values are too many at once; send fewer`;
  return unreadableBody(url, [{ location: "/", message }]);
}

const quote = 0x22;
const backslash = 0x5c;

/** The bytes that may precede a value: `,`, `[` and `{`. */
const isBeforeValue = new Uint8Array(256);
for (const byte of [0x2c, 0x5b, 0x7b]) isBeforeValue[byte] = 1;

/** Skips strings. Invalid JSON is left to the parser. */
export function hasTooManyValues(json: Buffer): boolean {
  if (json.length <= maxValues) return false;
  let values = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] as number;
    if (byte === quote) at = endOfText(json, at);
    values += isBeforeValue[byte] as number;
    if (values > maxValues) return true;
  }
  return false;
}

/** The index of the closing quote of the string that begins at `start`. */
function endOfText(json: Buffer, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1;
  return at;
}
