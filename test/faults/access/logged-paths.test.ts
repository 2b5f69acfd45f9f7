/** Lines of the log that anybody of the machine can have written, without a token. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createIngressFront } from "#control/front/front.ts";
import { createIdentify } from "#control/token.ts";
import type { Log } from "#kernel/log.ts";
import { neverAsked } from "../../support/never-asked.ts";
import { startAccessBench } from "../../support/program/access-bench.ts";

async function logOf(path: string): Promise<string> {
  const lines: string[] = [];
  const front = createIngressFront({
    ...{ ingressUrl: "http://127.0.0.1:9", adminUrl: "http://127.0.0.1:9" },
    identify: createIdentify({ ingressToken: "t", operators: {} }),
    actorKey: new Uint8Array(32),
    log: {
      ...neverAsked<Log>(),
      warn: (...line: unknown[]) => void lines.push(JSON.stringify(line)),
    } as Log,
  });
  front.server.listen(0, "127.0.0.1");
  await once(front.server, "listening");
  onTestFinished(async () => {
    await front.close();
    front.server.close();
  });
  const { port } = front.server.address() as AddressInfo;
  const headers = { authorization: "Bearer wrong" };
  await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers });
  return lines.join("\n");
}

it("a path of 12 kB at Restate's address is a short line", async () => {
  expect((await logOf(`/${"a/".repeat(6_000)}`)).length).toBeLessThan(400);
});

it("a call at Restate's address makes Node write no warning", async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on("warning", note);
  onTestFinished(() => void process.off("warning", note));
  const { ingress } = await startAccessBench();

  const headers = { authorization: "Bearer shared" };
  const answer = await fetch(`${ingress}/vedette.v1.StatusReads/Read`, { method: "POST", headers });

  expect([answer.status, warnings]).toEqual([200, []]);
});

it("a token that is sent in a path at Restate's address is not in the log", async () => {
  const token = `${"Ab1_".repeat(10)}xyz`;

  const line = await logOf(`/${token}/start`);

  expect(line).toContain("/***/start");
  expect(line).not.toContain(token);
});
