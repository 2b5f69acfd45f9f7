/** Rollouts over three engines by the commands that a user types. */
import { expect, it, onTestFinished } from "vitest";
import { canRunEngines } from "../../support/docker/engine.ts";
import { startDockerFleets } from "../../support/docker/fleet.ts";
import { runVedette } from "../../support/program/command.ts";
import { startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

const hosts = ["edge-1", "edge-2", "edge-3"];
const broken = "edge-2/gw-2";

type Listed = { id: string; running_image: string };

/** Two containers on each host, one of another image than the other. */
async function startFleet() {
  const { engines, registry, images } = await startDockerFleets(["v1", "v2", "v3-choosy", "v4"], 3);
  for (const [index, engine] of engines.entries()) {
    for (const [name, tag] of [
      ["gw-1", "v1"],
      ["gw-2", "v2"],
    ] as const) {
      const Env = `${hosts[index]}/${name}` === broken ? ["BROKEN=yes"] : [];
      await engine.run(name, { image: images(tag), Env });
    }
  }
  const program = await startProgram({
    VEDETTE_FLEET__DRIVER: "docker",
    VEDETTE_FLEET__DOCKER__HOSTS: engines.map(({ url }, n) => `${hosts[n]}=${url}`).join(","),
    VEDETTE_FLEET__DOCKER__STABLE_SECONDS: "1",
    VEDETTE_REGISTRY__INSECURE: registry.host,
  });
  onTestFinished(program.dispose);

  const vedette = (...args: string[]) => runVedette(args, { VEDETTE_DATA_DIR: program.dataDir });
  const running = async (): Promise<Record<string, string>> => {
    const { stdout } = await vedette("sentinels", "list", "--json");
    const { sentinels } = JSON.parse(stdout) as { sentinels: Listed[] };
    return Object.fromEntries(sentinels.map(({ id, running_image }) => [id, running_image]));
  };
  return { engines, images, program, vedette, running };
}

it.skipIf(!canRunEngines())(
  "rolls out over three Docker hosts, back, and on after a kill",
  async () => {
    const { engines, images, program, vedette, running } = await startFleet();
    const before = await running();

    const paused = await vedette(
      "rollout",
      "start",
      images("v3-choosy"),
      "--waves",
      "100",
      "--wait",
    );
    const partly = await running();
    const rolledBack = await vedette("rollout", "rollback");
    const after = await running();

    expect(before).toEqual(
      Object.fromEntries(
        hosts.flatMap((host) => [
          [`${host}/gw-1`, images("v1")],
          [`${host}/gw-2`, images("v2")],
        ]),
      ),
    );
    expect([paused.code, paused.stdout]).toEqual([
      2,
      expect.stringContaining("crash_loop: exit code 5"),
    ]);
    expect(partly).toEqual({
      ...Object.fromEntries(Object.keys(before).map((id) => [id, images("v3-choosy")])),
      [broken]: images("v2"),
    });
    expect([rolledBack.code, after]).toEqual([0, before]);

    await vedette("rollout", "start", images("v4"), "--waves", "50,100");
    const names = async () => {
      const lists = await Promise.all(engines.map(({ containers }) => containers()));
      return lists.flat().flatMap(({ Names }) => Names);
    };
    const what = "a replacement to be under way";
    await waitFor(async () => (await names()).includes("gw-1.next"), { withinMs: 60_000, what });
    program.kill9("main");
    await program.start();
    const watched = await vedette("rollout", "watch");

    expect(watched.code).toBe(0);
    expect(Object.values(await running())).toEqual(Array.from({ length: 6 }, () => images("v4")));
    expect((await names()).filter((name) => /\.(next|prev|failing)$/.test(name))).toEqual([]);
  },
);
