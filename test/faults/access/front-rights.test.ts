/** What a caller without every role gains by Restate's own features, at the addresses before it. */
import { describe, expect, it } from "vitest";
import { startAccessBench } from "../../support/program/access-bench.ts";

const rollout = "/vedette.v1.SentinelRolloutService/singleton";
const operators = { ada: ["operate"], ben: ["operate"], eve: ["read"] } as const;

const places = ["ingress", "admin"] as const;

const post = async (url: string, as: string, more: { body?: string; key?: string } = {}) => {
  const headers = {
    authorization: `Bearer ${as}`,
    "content-type": "application/json",
    ...(more.key !== undefined && { "idempotency-key": more.key }),
  };
  const answer = await fetch(url, { method: "POST", headers, body: more.body ?? "{}" });
  return { status: answer.status, text: await answer.text() };
};

describe.each(places)("at the %s", (place) => {
  const start = async () => {
    const { reached, ...bench } = await startAccessBench({ operators });
    return { reached, url: `${bench[place]}${place === "admin" ? "/ingress" : ""}${rollout}` };
  };

  it.each([
    "Rollout/send?delay=720h",
    "Rollout?delay=1s",
    "Cancel/send?x",
    "Cancel/send?%64elay=1h",
  ])(
    "no call for later, such as %s, is made by whoever may lose the role until then",
    async (call) => {
      const { url, reached } = await start();

      const { status, text } = await post(`${url}/${call}`, "of-ada");

      expect([status, reached]).toEqual([403, []]);
      expect(text).toContain("every role, as it has a query");
    },
  );

  it("a call for later is made by whoever may do everything", async () => {
    const { url, reached } = await start();

    const { status } = await post(`${url}/Cancel/send?delay=1h`, "shared");

    expect([status, reached[0]?.path]).toEqual([200, `${rollout}/Cancel/send?delay=1h`]);
  });

  it("the idempotency key of one operator is never that of another", async () => {
    const { url, reached } = await start();

    for (const who of ["of-ada", "of-ben", "of-ada"])
      await post(`${url}/Cancel`, who, { key: "deploy-1" });

    const [ada, ben, again] = reached.map(({ key }) => key);
    expect(ada).toMatch(/^caller-[\da-f]{64}$/);
    expect([ben === ada, again === ada]).toEqual([false, true]);
  });

  it("nobody takes the key that another one's call will have, by naming it", async () => {
    const { url, reached } = await start();
    await post(`${url}/Cancel`, "of-ben", { key: "deploy-1" });
    const key = reached[0]?.key ?? "";

    await post(`${url}/Cancel`, "of-ada", { key });

    expect(reached[1]?.key).not.toBe(key);
  });

  it("a call of the allow-list has as much in its body as at control", async () => {
    const { url, reached } = await start();
    const bodyOf = (bytes: number) => `{"a":"${"x".repeat(bytes)}"}`;

    const small = await post(`${url}/Status`, "of-eve", { body: bodyOf(1_000_000) });
    const large = await post(`${url}/Status`, "of-eve", { body: bodyOf(2_000_000) });

    expect([small.status, large.status, reached.length]).toEqual([200, 413, 1]);
    expect(large.text).toContain("larger than 1 MiB");
  });
});

it("control and Restate's address give the same key to the same operator's call", async () => {
  const { control, ingress, reached } = await startAccessBench({ operators });

  await post(`${control}${rollout}/Cancel`, "of-ada", { key: "deploy-1" });
  await post(`${ingress}${rollout}/Cancel`, "of-ada", { key: "deploy-1" });

  expect(reached[0]?.key).toBe(reached[1]?.key);
});
