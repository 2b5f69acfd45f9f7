/** A sentinel outlives its program, and another user's program gets the port of the API. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { isIPv4 } from "node:net";
import { createInterface } from "node:readline";
import { afterEach, expect, it } from "vitest";
import { isLoopback, ownAddresses } from "#kernel/address.ts";
import { createVerifyKey } from "#sentinel/verify.ts";

const started: ReturnType<typeof spawn>[] = [];

afterEach(() => {
  for (const child of started.splice(0)) child.kill();
});

/** Accepts every key, and prints its port and what it gets. */
const api = `require("node:http").createServer((request, response) => {
  request.resume().on("end", () => {
    console.log(JSON.stringify(request.headers));
    response.end('{"data":{"valid":true,"keyId":"key_1"}}');
  });
}).listen(Number(process.argv[1]), process.argv[2], function () { console.log(this.address().port); });`;

async function startApi({ as = [] as string[], port = 0, host = "127.0.0.1" } = {}) {
  const [command = "", ...args] = [...as, process.execPath, "-e", api, String(port), host];
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  started.push(child);
  const received: string[] = [];
  const lines = createInterface(child.stdout).on("line", (line) => received.push(line));
  await once(lines, "line");
  const stop = async () => {
    child.kill();
    await once(child, "exit");
  };
  return { port: Number(received.shift()), received, stop };
}

const anotherUser = ["setpriv", "--reuid=12345", "--clear-groups"];

const verifierOf = (port: number, host = "127.0.0.1") =>
  createVerifyKey({ url: `http://${host}:${port}`, rootKey: "of-the-sentinel" });

const ownAddress = ownAddresses().find((one) => isIPv4(one) && !isLoopback(one)) ?? "127.0.0.1";

it.skipIf(process.getuid?.() !== 0 || process.platform !== "linux").each(["127.0.0.1", ownAddress])(
  "a sentinel gives neither its root key nor a caller's key to another user's program on that port of %s",
  async (host) => {
    const { port, stop } = await startApi({ host });
    const verify = verifierOf(port, host);
    await verify("key-of-a-caller", "192.0.2.1");
    await stop();
    const other = await startApi({ as: anotherUser, port, host });

    await expect(verify("key-of-a-caller", "192.0.2.1")).rejects.toMatchObject({ status: 503 });

    expect(other.received).toEqual([]);
  },
);

it("a sentinel verifies keys again once the user's own program has restarted", async () => {
  const { port, stop } = await startApi();
  const verify = verifierOf(port);
  await verify("a", "192.0.2.1");
  await stop();
  await expect(verify("a", "192.0.2.1")).rejects.toMatchObject({ status: 503 });
  const restarted = await startApi({ port });

  expect(await verify("a", "192.0.2.1")).toEqual({ keyId: "key_1" });
  expect(restarted.received[0]).toContain("Bearer of-the-sentinel");
});
