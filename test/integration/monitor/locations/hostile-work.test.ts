/** What control answers to a runner opens no more of this machine than it should. */
import { expect, it, onTestFinished } from "vitest";
import { startMonitorRunner } from "#app/runner.ts";
import { readConfig } from "#config.ts";
import { createLog } from "#kernel/log.ts";
import type { CheckResult } from "#monitor/contract.ts";
import { anApiCheck } from "../../../support/monitor/check-builders.ts";
import { startServer, startService } from "../../../support/servers/counted-service.ts";
import { waitFor } from "../../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });

/** A runner, and the results that it reports. */
async function startRunner(environment: Record<string, string>, workOf: (own: number) => object) {
  const reported: CheckResult[] = [];
  const port = await startServer(async (request, own) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.url === "/runner/report") {
      reported.push(...JSON.parse(Buffer.concat(chunks).toString()).results);
      return {};
    }
    const work = {
      location: "fra",
      now_ms: Date.now(),
      base_url: "http://127.0.0.1",
      services: [],
      checks: [],
    };
    return { ...work, ...workOf(own) };
  });
  const settings = { control: `http://127.0.0.1:${port}`, token: "t", location: "fra", log };
  const runner = await startMonitorRunner(readConfig({ environment }), settings);
  onTestFinished(() => runner.stop());
  return (id: string) =>
    waitFor(() => reported.findLast(({ checkId }) => checkId === id), {
      withinMs: 60_000,
      what: `the result of ${id}`,
    });
}

const tcpTo = (id: string, port: number) => {
  const { channel: _, directChannels: _others, dependsOn: _on, ...common } = anApiCheck();
  return {
    ...{ ...common, id, kind: "tcp", host: "127.0.0.1", port, frequencySeconds: 10 },
    ...{ send: null, expect: null },
  };
};

it.each([
  ["without a port, no other than 80", "http://127.0.0.1", false],
  ["with a path, no other than 443", "https://127.0.0.1/api", false],
  ["with a port, that one", "", true],
])("where private networks are closed, base_url opens %s", async (_, url, isOpen) => {
  const { seen, port } = await startService();
  const base_url = isOpen ? `http://127.0.0.1:${port}` : url;
  const closed = { VEDETTE_MONITOR__PRIVATE_NETWORKS: "false" };
  const resultOf = await startRunner(closed, () => ({ base_url, checks: [tcpTo("a", port)] }));

  const { grade } = await resultOf("a");

  expect([grade, seen.connections > 0]).toEqual(isOpen ? ["ok", true] : ["failed", false]);
});

const wrongLists: [string, unknown][] = [
  ["no list", "Restate"],
  ["of other things", [1, null, { name: 1 }]],
  ["with a port that is none", [{ name: "Restate", host: "127.0.0.1", port: "1" }]],
  ["longer than any", Array(5_000).fill({ name: "a", host: "b", port: 1 })],
];

it.each(wrongLists)("a runner runs nothing with services %s", async (_, services) => {
  await expect(startRunner({}, () => ({ services }))).rejects.toThrow(
    "is not a control of Vedette",
  );
});

it.each([{}, { services: [] }])(
  "a runner without services (%j) does not call control",
  async (of) => {
    const resultOf = await startRunner({}, (port) => ({ ...of, checks: [tcpTo("own", port)] }));

    expect((await resultOf("own")).reason).toContain("one of Vedette's own services (control)");
  },
);
