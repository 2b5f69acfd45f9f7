/** JSON that stands as a text in an answer is bounded as the answer is: it is parsed by itself, and by nobody's guard. */
import { describe, expect, it } from "vitest";
import { readRecords, writeRecords } from "#fleet/drivers/kubernetes/members/records.ts";
import { readRecord, writeRecord } from "#fleet/drivers/kubernetes/record.ts";
import { createReach } from "#kernel/reach.ts";
import { createTokenSource } from "#registry/client.ts";
import { digestOf } from "#routing/incident/content.ts";
import { startFakeRegistry } from "../../support/servers/fake-registry.ts";

const many = 1_000_000;
const head = '"uid":"u","containers":[],"manager":"m"';

/** No text of these is a record, and each is in a page of a cluster. */
const hostile: [string, string][] = [
  ["lists in a list", `[${"[],".repeat(many)}[]]`],
  ["lists in lists", "[".repeat(many) + "]".repeat(many)],
  [
    "wrong members",
    `{${head},"members":{${Array.from({ length: 150_000 }, (_, at) => `"a${at}":1`)}}}`,
  ],
  [
    "few wrong members",
    `{${head},"members":{${Array.from({ length: 9_000 }, (_, at) => `"a${at}":1`)}}}`,
  ],
  [
    "wrong containers",
    `{"uid":"u","manager":"m","members":{},"containers":[${"1,".repeat(9_000)}1]}`,
  ],
];

/** Of the processor, so that a loaded machine does not count. */
function workedMs(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  return process.threadCpuUsage(before).user / 1_000;
}

const withAnnotations = (annotations: Record<string, string>) =>
  ({ metadata: { uid: "u", annotations } }) as never;

describe.each(hostile)("an annotation of %s", (_, text) => {
  it("is no record of a deploy, and none of members", () => {
    const workload = withAnnotations({ "vedette.dev/deploy": text, "vedette.dev/members": text });
    const read = () => [readRecord(workload), readRecords(workload)];

    expect(read()).toEqual([undefined, undefined]);
    expect(workedMs(read)).toBeLessThan(100);
  });
});

it("records as we write them are read", () => {
  const common = { id: "d", image: "r.io/a:2", previous: "r.io/a:1", container: "gw", atMs: 1 };
  const deploy = { ...common, uid: "u", manager: "vedette" };
  const members = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`gw-${at}`, common]));
  const records = { uid: "u", containers: ["gw"], manager: "m", names: [["a", "b"]], members };

  expect(readRecord(withAnnotations(writeRecord(deploy)))).toEqual(deploy);
  const written = writeRecords(records as never) ?? {};
  expect(readRecords(withAnnotations(written))).toEqual(records);
});

it.each(hostile.slice(0, 2))("a route's literal of %s is a text", (_, text) => {
  expect(workedMs(() => digestOf({ literal: text }))).toBeLessThan(500);
  expect(digestOf({ literal: text })).not.toBe(digestOf({ literal: `${text} ` }));
});

it("a route's literal with the members of its JSON in another order means the same", () => {
  const one = digestOf({ literal: '{"a": [1, "2"], "b": null}' });

  expect(digestOf({ literal: '{"b":null,"a":[1,"2"]}' })).toBe(one);
});

it("a token service's answer of many lists is refused", async () => {
  const body = `{"token":"t","more":[${"[],".repeat(many)}[]]}`;
  const registry = await startFakeRegistry(() => ({ status: 200, body }));
  const reach = createReach({ closed: [] });
  const tokens = createTokenSource({ insecure: [], tokenHosts: [], reach });
  const challenge = {
    scheme: "bearer",
    service: "",
    scope: "",
    realm: `http://${registry.host}/token`,
  } as const;

  const found = tokens.find({ host: registry.host, challenge, credential: undefined });

  await expect(found).rejects.toThrow("without a valid token");
});
