import { type Context, service } from "@restatedev/restate-sdk";
import { createEndpointHandler } from "@restatedev/restate-sdk/fetch";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readJournals, replayJournal, startRecorder, writeJournals } from "#journals/journals.ts";
import { startTestRestate } from "#testing/testing.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

/** Orders as one version handles them; another one may have a step of another name. */
const orders = (lastStep = "ship") =>
  service({
    name: "Orders",
    handlers: {
      order: async (ctx: Context, count: number) => {
        for (let i = 0; i < count; i++) await ctx.run("reserve", () => i);
        await ctx.sleep(10);
        await ctx.serviceClient(service({ name: "Orders", handlers: { bill } })).bill();
        await ctx.run(lastStep, () => "shipped");
      },
      bill,
      deliver: async (ctx: Context) => {
        await ctx.run("load", () => 1);
        await ctx.sleep({ hours: 1 });
        await ctx.run("hand-over", () => 2);
      },
    },
  });

const bill = async (ctx: Context) => ctx.run("charge", () => 9);

let stop: () => Promise<void>;
let callOrders: (address: string, body?: unknown) => Promise<number>;
let recorder: Awaited<ReturnType<typeof startRecorder>>;

beforeAll(async () => {
  const { ingressUrl, ...restate } = await startTestRestate({
    services: [orders()],
    advertise: async (url) => {
      recorder = await startRecorder({ to: url });
      return recorder.url;
    },
  });
  callOrders = async (address, body) => {
    const headers = { "content-type": "application/json" };
    const init = body === undefined ? {} : { headers, body: JSON.stringify(body) };
    return (await fetch(`${ingressUrl}/Orders/${address}`, { method: "POST", ...init })).status;
  };
  stop = async () => {
    await restate.stop();
    recorder.stop();
  };
});

afterAll(() => stop());

it("the journals of calls through the recorder fit the code that made them, and no other steps", async () => {
  const dir = makeTempDir();
  expect(await callOrders("order", 40)).toBe(200);
  expect(await callOrders("order", 2)).toBe(200);
  expect(await callOrders("deliver/send")).toBe(202);
  const isWaiting = () => recorder.journals().some(({ handler }) => handler === "deliver");
  await waitFor(isWaiting, { withinMs: 10_000, what: "the delivery to wait" });

  writeJournals(dir.path, recorder.journals());
  const journals = readJournals(dir.path);
  dir.remove();

  expect([...journals.keys()]).toEqual([
    "Orders.bill-1.gz",
    "Orders.deliver-1.gz",
    "Orders.order-1.gz",
  ]);
  const replayOn = async (version: ReturnType<typeof orders>) => {
    const endpoint = createEndpointHandler({ services: [version], logger: () => {} });
    return Promise.all([...journals.values()].map((one) => replayJournal(endpoint, one)));
  };
  const fits = { fits: true };
  expect(await replayOn(orders())).toEqual([fits, fits, fits]);
  expect(await replayOn(orders("send"))).toMatchObject([fits, fits, { fits: false, at: "ship" }]);
});
