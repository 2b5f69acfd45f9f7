/** A name with thousands of addresses, at a port of our own: all of them are judged, but not by standing still. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { tempDir } from "../../support/temp-dir.ts";

const script = fileURLToPath(new URL("../../support/monitor/many-addresses.ts", import.meta.url));
const inOwnNetwork = ["-Urmn", "--", "sh", "-c"];
const mayOpenOne = spawnSync("unshare", [...inOwnNetwork, "ip link set lo up"]).status === 0;

it.skipIf(!mayOpenOne)("a name with four thousand addresses is judged in time", () => {
  const resolver = path.join(tempDir(), "resolv.conf");
  writeFileSync(resolver, "nameserver 127.0.0.1\noptions attempts:1 timeout:2\n");
  const commands = [
    "ip link set lo up",
    `mount --bind ${resolver} /etc/resolv.conf`,
    `exec ${process.execPath} ${script}`,
  ];

  const { stdout, stderr } = spawnSync("unshare", [...inOwnNetwork, commands.join(" && ")]);

  expect(stderr.toString()).toBe("");
  const { found, judgedMs } = JSON.parse(stdout.toString());
  expect(found).toBeLessThanOrEqual(100);
  expect(judgedMs).toBeLessThan(500);
});
