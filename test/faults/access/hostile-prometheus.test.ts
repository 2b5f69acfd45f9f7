/** Answers of a Prometheus that would keep a worker busy, or open a gate though they are none. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { gradeAnswer } from "#rollout/gates/prometheus.ts";
import { createQueryPrometheus } from "#rollout/gates/query-prometheus.ts";

const mib = 1_024 * 1_024;
const vector = (result: string) =>
  `{"status":"success","data":{"resultType":"vector","result":[${result}]}}`;
const filledWith = (one: string) =>
  vector(
    Array(Math.floor((mib - 100) / (one.length + 1)))
      .fill(one)
      .join(),
  );
const labels = (value: string) =>
  Array.from({ length: 40_000 }, (_, i) => `"a${i}":${value}`).join();

const answers: [what: string, body: string][] = [
  ["series without a value", filledWith("{}")],
  ["series of a wrong type", filledWith('{"metric":1,"value":1}')],
  ["series that are lists", filledWith("[]")],
  ["labels that are no texts", vector(`{"metric":{${labels("1")}},"value":[1,"1"]}`)],
  ["lists in lists", "[".repeat(mib)],
  ["a value of no number", vector('{"metric":{},"value":[1,"one"]}')],
  ["a page", "<html>"],
];

async function ask(answer: (response: ServerResponse) => unknown) {
  const server = createServer((_, response) => void answer(response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return createQueryPrometheus({ url, token: "green egret dives 82" })("up");
}

const gate = { pass: "< 10", no_data: "inconclusive" } as const;

it.each(answers)("an answer of %s is judged in time, and opens no gate", async (_, body) => {
  const before = process.cpuUsage();

  const { verdict } = gradeAnswer(gate, await ask((response) => response.end(body)));

  expect(verdict).toBe("inconclusive");
  expect(process.cpuUsage(before).user).toBeLessThan(1_500_000);
});

it("many labels of one series are a reading of one line", async () => {
  const body = vector(`{"metric":{${labels('"\\u001b[2J"')}},"value":[1,"1"]}`);

  const { value } = gradeAnswer(gate, await ask((response) => response.end(body)));

  expect(value).toMatch(/^1 \{a0="[\x20-\x7e]{1,200}$/);
});

it("an answer that goes on slowly is given up on, with a word for it", {
  timeout: 20_000,
}, async () => {
  const found = await ask((response) => {
    response.write('{"status":');
    const drip = setInterval(() => response.write(" "), 200);
    response.once("close", () => clearInterval(drip));
  });

  expect(found).toEqual({ error: "Prometheus does not answer (TimeoutError)" });
});
