/** Callers who write another one's name, accounts or proof into their requests, in every way that HTTP has. */
import { request } from "node:http";
import { expect, it } from "vitest";
import { signActor } from "#kernel/actor.ts";
import { startAccessBench } from "../../support/program/access-bench.ts";

const operators = { ada: ["read", "operate", "approve"], ben: ["read", "approve"] } as const;
const path = "/vedette.v1.SentinelRolloutService/singleton/Approve";

/** Of the key that the bench's fronts have: the best that a caller could send, if it had it. */
const proof = signActor(
  "ben",
  { target: path.slice(1), body: "{}", accounts: ["account-of-ben"] },
  new Uint8Array(32),
);
const flat = (headers: Record<string, string>) => Object.entries(headers).flat();

type Spoof = { how: string; headers: readonly string[]; trailers?: Record<string, string> };

const spoofs: Spoof[] = [
  { how: "by a name alone", headers: ["x-vedette-actor", "ben"] },
  { how: "by accounts alone", headers: ["x-vedette-accounts", "account-of-ben"] },
  { how: "by no accounts", headers: ["x-vedette-accounts", ""] },
  { how: "by a signed call of ben", headers: flat(proof) },
  { how: "by the same twice", headers: [...flat(proof), ...flat(proof)] },
  {
    how: "in other letters",
    headers: Object.entries(proof).flatMap(([name, value]) => [name.toUpperCase(), value]),
  },
  {
    how: "with underscores",
    headers: Object.entries(proof).flatMap(([name, value]) => [name.replaceAll("-", "_"), value]),
  },
  {
    how: "by headers that are named as hop-by-hop",
    headers: ["connection", Object.keys(proof).join(", "), ...flat(proof)],
  },
  {
    how: "by naming ours as hop-by-hop",
    headers: ["connection", "x-vedette-actor, x-vedette-actor-proof, close"],
  },
  {
    how: "by trailers",
    headers: ["transfer-encoding", "chunked", "trailer", Object.keys(proof).join(", ")],
    trailers: proof,
  },
  {
    how: "by a cookie and forwarded headers",
    headers: ["cookie", "x-vedette-actor=ben", "forwarded", "by=ben", "x-forwarded-user", "ben"],
  },
  { how: "by a second authorization", headers: ["proxy-authorization", "Bearer of-ben"] },
];

const send = (url: string, { headers, trailers }: Spoof) =>
  new Promise<number>((resolve, reject) => {
    const isChunked = trailers !== undefined;
    const own = ["host", new URL(url).host, "authorization", "Bearer of-ada"];
    const length = isChunked ? [] : ["content-length", "2"];
    const all = [...own, "content-type", "application/json", ...length, ...headers];
    const asked = request(url, { method: "POST", headers: all }, (answer) => {
      answer.resume().on("end", () => resolve(answer.statusCode ?? 0));
    });
    asked.once("error", reject);
    if (isChunked) asked.addTrailers(trailers);
    asked.end("{}");
  });

it.each(spoofs)("a call $how is in the name of its token, at each address", async (spoof) => {
  const { reached, control, ingress, admin } = await startAccessBench({ operators });

  const statuses = [];
  for (const place of [control, ingress, `${admin}/ingress`])
    statuses.push(await send(`${place}${path}`, spoof));

  expect(statuses).toEqual([200, 200, 200]);
  const callers = reached.map(({ rawHeaders }) =>
    rawHeaders
      .map((name, at) => [name.toLowerCase(), rawHeaders[at + 1]])
      .filter(([name], at) => at % 2 === 0 && /^x-vedette-(?!actor-proof)/.test(name ?? "")),
  );
  const own = expect.stringMatching(/^row:[\w-]+$/);
  const ada = [
    ["x-vedette-accounts", own],
    ["x-vedette-actor", "ada"],
  ];
  expect(callers.map((headers) => headers.toSorted())).toEqual([ada, ada, ada]);
  const proofs = reached.flatMap(({ rawHeaders }) =>
    rawHeaders.filter((_, at) => /^x-vedette-actor-proof$/i.test(rawHeaders[at - 1] ?? "")),
  );
  expect(proofs).toHaveLength(3);
  expect(proofs).not.toContain(proof["x-vedette-actor-proof"]);
});
