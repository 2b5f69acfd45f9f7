/** The image as an engine builds it, and the program that runs in it. Skipped where no engine answers. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  buildImage,
  buildWithinMs,
  type EngineImage,
  hasEngine,
} from "../../support/servers/container-engine.ts";
import {
  serverSettings,
  startTestDatabase,
  startTestRestate,
  type TestServer,
} from "../../support/servers/servers.ts";
import { waitFor } from "../../support/wait-for.ts";

/** Its own check is made every five seconds. */
const healthyWithinMs = 120_000;

describe.skipIf(!hasEngine())("the image, under an engine", () => {
  const servers: TestServer[] = [];
  let image: EngineImage;

  beforeAll(async () => {
    image = await buildImage();
  }, buildWithinMs);

  afterAll(async () => {
    for (const server of servers.reverse()) await server.stop();
    await image?.remove();
  });

  it("has the command, and runs it as an ordinary user", async () => {
    const version = await image.run(["vedette", "--version"]);
    const user = await image.run(["id", "-un"]);

    expect(version).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(user).toBe("node\n");
  });

  it("starts, is healthy, answers the command line in it, and stops", async () => {
    const database = await startTestDatabase();
    servers.push(database);
    const restate = await startTestRestate({ services: [] });
    servers.push(restate);
    const container = await image.start(["start"], serverSettings(database, restate));
    try {
      const isOver = async () =>
        (await container.health()) === "healthy" || !(await container.isRunning());
      await waitFor(isOver, { withinMs: healthyWithinMs, what: "the health check" });
      const health = await container.health();
      const sentinels = await container.exec(["vedette", "sentinels", "list"]);
      const code = await container.stop();

      expect(health, await container.log()).toBe("healthy");
      expect(sentinels).toContain("sentinel-01");
      expect(code).toBe(0);
    } finally {
      await container.remove();
    }
  });
});
