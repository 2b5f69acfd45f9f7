/** Requests as bytes, most of which differ in one or two places from what clients send. */
import fc from "fast-check";

/** What is sent on one connection. */
export type OddConnection = {
  /** Each in pieces, as they are sent; each character is a byte. */
  requests: string[][];
  /** Whether a request is sent before the one before it has its answer. */
  isAhead: boolean;
};

type Parts = {
  start: string;
  headers: string[];
  ends: readonly string[];
  body: string;
  after: string;
};

const usualStart = "POST /v2/test.echo HTTP/1.1";
const usualHeaders = ["Host: api", "Content-Type: application/json", "Authorization: Bearer k"];

const types = [
  ...["application/json;charset=UTF-8", "application/json; charset=utf-8", "APPLICATION/JSON"],
  ...[
    "application/json; charset=latin1",
    "application/json;",
    "application/jsonx",
    "application/json, a",
  ],
  ...["application/json; charset=utf-8; a=b", "application/problem+json", '"application/json"'],
];

const starts = [
  ...["POST /v2/test.echo HTTP/1.0", "post /v2/test.echo HTTP/1.1", "GET /v2/test.echo HTTP/1.1"],
  ...["POST /v2/test.other HTTP/1.1", "POST /v2/test.none HTTP/1.1", "HEAD /v2/test.echo HTTP/1.1"],
  ...[
    "POST  /v2/test.echo HTTP/1.1",
    "POST /v2/test.echo  HTTP/1.1",
    "POST /v2/test.echo HTTP/1.1 ",
  ],
  ...[
    "POST /v2/test.echo?a=b HTTP/1.1",
    "POST /v2/test.ech%6f HTTP/1.1",
    "POST /v2/test.echo/ HTTP/1.1",
  ],
  ...[
    "POST http://api/v2/test.echo HTTP/1.1",
    "POST /v2//test.echo HTTP/1.1",
    "\r\nPOST /v2/test.echo HTTP/1.1",
  ],
  ...[
    "POST /v2/test.echo HTTP/1.2",
    "POST /v2/test.echo HTTP/2.0",
    "POST /v2/test.echo",
    " POST / HTTP/1.1",
  ],
  ...[
    "POST\t/v2/test.echo HTTP/1.1",
    "POST /v2/test.Echo HTTP/1.1",
    "POST /v2/test.echo#x HTTP/1.1",
  ],
];

const headerLines = [
  ...[
    "Connection: close",
    "Connection: keep-alive",
    "Connection: Keep-Alive",
    "Connection: upgrade",
  ],
  ...["connection: keep-alive, close", "Proxy-Connection: close", "Upgrade: h2c", "Keep-Alive: 5"],
  ...["Transfer-Encoding: chunked", "Transfer-Encoding: identity", "Transfer-Encoding : chunked"],
  ...["transfer-encoding: gzip, chunked", "TE: trailers", "Trailer: x", "Expect: 100-continue"],
  ...["Content-Length: 5", "Content-Length: 0", "Content-Length: +5", "Content-Length: 5, 5"],
  ...[
    "Content-Length: 0x5",
    "content-length: 05",
    "Content-Length:",
    "Content-Length: 99999999999999999999",
  ],
  ...[
    "Host: other",
    "Host:",
    "host: api",
    "Content-Type: text/plain",
    "Content-Type: application/json",
  ],
  ...[
    "Content-Encoding: gzip",
    "Accept: */*",
    "Accept-Version: 2",
    "User-Agent: odd/1",
    "X-Empty:",
  ],
  ...[
    "X-Forwarded-For: 1.2.3.4",
    "X-Forwarded-For: 1.2.3.4, 5.6.7.8",
    "x-forwarded-for:  9.9.9.9 ",
  ],
  ...[
    "X-Forwarded-For: not an address",
    "x-unkey-metrics: disabled",
    "X-Tab:\ta\tb",
    "X-Spaces:   a  b  ",
  ],
  ...[
    "X-No-Space:a",
    "X-Trailing: a ",
    "X-Bad\u0001: a",
    "X-Bad: a\u0001b",
    "X-Bad: a\u007fb",
    "X-High: \u00e9",
  ],
  ...[
    "X-Null: a\u0000b",
    "X-Cr: a\rb",
    "X-Lf: a\nb",
    " folded",
    "\tfolded",
    "no colon",
    ": no name",
    "X-\u00e9: a",
  ],
  ...[
    "X Space: a",
    "__proto__: a",
    "constructor: a",
    "toString: b",
    "hasOwnProperty: c",
    "Cookie: a=b",
  ],
  ...[
    "Authorization: Bearer k2",
    "Authorization: Basic x",
    "Authorization:",
    "authorization: bearer  k",
  ],
  `X-Long: ${"a".repeat(5_000)}`,
  `X-Longer: ${"a".repeat(17_000)}`,
];

const bodies = [
  ...[
    '{"say":"hello"}',
    "{}",
    "[]",
    "null",
    "1",
    '"text"',
    '{"say":1}',
    '{"say":"a","more":1}',
    "{",
  ],
  ...[
    '{"say":"a"}{"say":"b"}',
    '\u00ef\u00bb\u00bf{"say":"bom"}',
    '{"say":"\u00ff\u00fe"}',
    " ",
    "",
    "{}\r\n",
  ],
  ...[
    '{"say":"\u00c3\u00a9"}',
    '{"__proto__":{"say":"x"}}',
    '{"say":"a","say":"b"}',
    '{"say":"later"}',
  ],
  ...['{"say":"fail"}', '{"say":"refuse"}', '{"say":"\\ud800"}', `{"say":"${"a".repeat(9_000)}"}`],
  ...[
    `{"say":"${"a".repeat(20_000)}"}`,
    '{"constructor":{"prototype":{"x":1}}}',
    "5\r\nhello\r\n0\r\n\r\n",
  ],
];

const afterwards = [
  ...["\r\n", "x", "GET /v2/liveness HTTP/1.1\r\nHost: a\r\n\r\n", "\r\n\r\n", "\u0000", "POST"],
];

/** Where a usual request has something odd, most often in one place. */
const parts: fc.Arbitrary<Parts> = fc.record({
  start: fc.oneof({ weight: 15, arbitrary: fc.constant(usualStart) }, fc.constantFrom(...starts)),
  headers: fc
    .record({
      added: fc.oneof(fc.constant([]), fc.array(fc.constantFrom(...headerLines), { maxLength: 2 })),
      left: fc.oneof(
        { weight: 9, arbitrary: fc.constant(usualHeaders) },
        fc.constantFrom(...types).map((type) => usualHeaders.with(1, `Content-Type: ${type}`)),
        fc.subarray(usualHeaders, { minLength: 2 }),
      ),
      at: fc.nat({ max: 5 }),
    })
    .map(({ added, left, at }) => left.toSpliced(at, 0, ...added)),
  ends: fc.oneof(
    { weight: 20, arbitrary: fc.constant(["\r\n"]) },
    fc.array(fc.constantFrom("\r\n", "\n", "\r", "\r\r\n", "\n\r"), { minLength: 2, maxLength: 6 }),
  ),
  body: fc.oneof(fc.constant(bodies[0] as string), fc.constantFrom(...bodies)),
  after: fc.oneof({ weight: 15, arbitrary: fc.constant("") }, fc.constantFrom(...afterwards)),
});

/** What a header says of the body's length, if it is there. */
const lengths = fc.oneof(
  { weight: 30, arbitrary: fc.constant((length: number) => [`Content-Length: ${length}`]) },
  fc.constantFrom(
    (length: number) => [`Content-Length: ${length + 1}`],
    (length: number) => [`Content-Length: ${Math.max(0, length - 1)}`],
    (length: number) => [`Content-Length: +${length}`],
    (length: number) => [`Content-Length: 0${length}`],
    (length: number) => [`Content-Length: 0x${length.toString(16)}`],
    (length: number) => [`Content-Length: ${length}, ${length}`],
    (length: number) => [`Content-Length:   ${length}  `],
    (length: number) => [`Content-Length: ${length}`, `Content-Length: ${length}`],
    () => [],
  ),
);

const request = fc.tuple(parts, lengths).map(([{ start, headers, ends, body, after }, length]) => {
  const lines = [start, ...headers, ...length(body.length), ""];
  const end = (n: number) => ends[n % ends.length] as string;
  return `${lines.map((line, n) => line + end(n)).join("")}${body}${after}`;
});

const inPieces = fc
  .tuple(
    request,
    fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 3 }),
    ),
  )
  .map(([bytes, cuts]) => {
    const places = cuts.map((cut) => Math.floor(cut * bytes.length)).sort((a, b) => a - b);
    const from = [0, ...places];
    const pieces = from.map((start, n) => bytes.slice(start, from[n + 1] ?? bytes.length));
    return pieces.filter((piece) => piece !== "");
  });

/** One to three of them on one connection. */
export const oddConnections: fc.Arbitrary<OddConnection> = fc.record({
  requests: fc.array(inPieces, { minLength: 1, maxLength: 3 }),
  isAhead: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.constant(true)),
});
