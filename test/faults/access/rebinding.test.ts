/** Names whose addresses change, or that have several, lead neither to the metadata address nor to a part of ours. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { tempDir } from "../../support/temp-dir.ts";

const script = fileURLToPath(new URL("../../support/monitor/rebinding.ts", import.meta.url));
const inOwnNetwork = ["-Urmn", "--", "sh", "-c"];
const mayOpenOne = spawnSync("unshare", [...inOwnNetwork, "ip link set lo up"]).status === 0;

/** The connections that the servers got, by what they stand for. */
function attack(how: "guarded" | "open"): Record<string, number> {
  const resolver = path.join(tempDir(), "resolv.conf");
  writeFileSync(resolver, "nameserver 127.0.0.1\noptions attempts:1 timeout:2\n");
  const commands = [
    "ip link set lo up",
    "ip addr add 10.1.1.1/32 dev lo",
    "ip addr add 169.254.169.254/32 dev lo",
    `mount --bind ${resolver} /etc/resolv.conf`,
    `exec ${process.execPath} ${script} ${how}`,
  ].join(" && ");
  const { stdout, stderr } = spawnSync("unshare", [...inOwnNetwork, commands]);
  return JSON.parse(stdout.toString() || `{"${stderr.toString().slice(-500)}":1}`);
}

it.skipIf(!mayOpenOne)("each request reaches them where nothing is closed", () => {
  const { metadata, own } = attack("open");

  expect([metadata, own]).toEqual([expect.any(Number), expect.any(Number)]);
});

it.skipIf(!mayOpenOne)(
  "no check, channel, question of a gate, provider or registry reaches them, whatever a name has by then",
  () => {
    const { good = 0, ...others } = attack("guarded");

    expect(good).toBeGreaterThan(4);
    expect(others).toEqual({});
  },
);
