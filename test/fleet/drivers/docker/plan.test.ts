import { describe, expect, it } from "vitest";
import { type Family, toFamily } from "#fleet/drivers/docker/family.ts";
import type { Verdict } from "#fleet/drivers/docker/judge.ts";
import { canOverlap, planStep, type Step } from "#fleet/drivers/docker/plan.ts";
import type { ContainerInfo } from "#fleet/drivers/docker/schemas.ts";
import { buildContainer, buildMade } from "../../../support/docker/container-builders.ts";

const always = { RestartPolicy: { Name: "always", MaximumRetryCount: 0 } };
const fixedPort = { PortBindings: { "80/tcp": [{ HostPort: "8080" }] } };

/** An engine in memory, that carries out steps. */
class Engine {
  readonly containers: ContainerInfo[];
  readonly steps: Step[] = [];

  constructor(containers: ContainerInfo[]) {
    this.containers = structuredClone(containers);
  }

  family(): Family {
    return toFamily("gw", this.containers);
  }

  names(): string[] {
    return this.containers.map(({ Name }) => Name).toSorted();
  }

  find(name: string): ContainerInfo | undefined {
    return this.containers.find(({ Name }) => Name === name);
  }

  /** Until nothing is left to do, or it has to wait. */
  run(judge: (made: ContainerInfo | undefined) => Verdict): Step["do"] {
    for (let n = 0; n < 30; n++) {
      const made = this.containers.find(({ Config }) => Config.Labels["vedette.deploy"] === "d1");
      const step = planStep(this.family(), "d1", judge(made));
      this.steps.push(step);
      if (step.do === "nothing" || step.do === "wait") return step.do;
      this.#carryOut(step);
    }
    throw new Error(`no end: ${JSON.stringify(this.steps)}`);
  }

  #carryOut(step: Exclude<Step, { do: "wait" | "nothing" }>): void {
    const index = this.containers.findIndex(({ Id }) => Id === step.id);
    const one = this.containers[index];
    if (one === undefined) throw new Error(`no container ${step.id}`);
    const set = (state: Partial<ContainerInfo["State"]>) => Object.assign(one.State, state);
    if (step.do === "start") set({ Status: "running", Running: true });
    if (step.do === "stop") set({ Status: "exited", Running: false });
    if (step.do === "rename") {
      if (this.find(step.name)) throw new Error(`${step.name} is taken`);
      one.Name = step.name;
    }
    if (step.do === "restart-policy") one.HostConfig.RestartPolicy = step.policy;
    if (step.do === "connect") one.NetworkSettings.Networks[step.network] = step.endpoint;
    if (step.do === "remove") {
      if (one.State.Running) throw new Error("a running container is not removed");
      this.containers.splice(index, 1);
    }
  }
}

const ready = (made: ContainerInfo | undefined): Verdict =>
  made?.State.Running ? { status: "ready" } : { status: "starting" };

/** Once it runs it fails, and has then failed for good. */
function failing(): (made: ContainerInfo | undefined) => Verdict {
  let hasRun = false;
  return (made) => {
    hasRun ||= made?.State.Running === true;
    return hasRun
      ? { status: "failed", reason: "crash_loop: exit code 1" }
      : { status: "starting" };
  };
}

describe.each([
  ["with a fixed port", fixedPort],
  ["that may run twice", {}],
])("a container %s", (_, host) => {
  const old = buildContainer("gw", { host: { ...always, ...host } });
  const made = buildMade("gw.next", "d1", { host: { ...always, ...host } });

  it("is replaced by one that gets ready, and removed", () => {
    const engine = new Engine([old, made]);

    expect(engine.run(ready)).toBe("nothing");

    expect(engine.names()).toEqual(["gw"]);
    expect(engine.find("gw")).toMatchObject({ Id: made.Id, State: { Running: true } });
  });

  it("comes back as it was when the new one fails, which is kept and stays down", () => {
    const engine = new Engine([old, made]);

    expect(engine.run(failing())).toBe("nothing");

    expect(engine.names()).toEqual(["gw", "gw.failed"]);
    expect(engine.find("gw")).toEqual(old);
    expect(engine.find("gw.failed")).toMatchObject({
      State: { Running: false },
      HostConfig: { RestartPolicy: { Name: "no" } },
    });
  });

  it("is not started again when it did not run before", () => {
    const down = buildContainer("gw", {
      host,
      state: { Status: "exited", Running: false },
    });
    const engine = new Engine([
      down,
      buildMade("gw.next", "d1", { host, labels: { "vedette.was-running": "false" } }),
    ]);

    engine.run(failing());

    expect(engine.find("gw")?.State.Running).toBe(false);
  });

  it.each([true, false])("makes place for what failed before, running: %s", (Running) => {
    const before = buildMade("gw.failed", "d0", { state: { Status: "exited", Running } });
    const engine = new Engine([old, made, before]);

    expect(engine.run(failing())).toBe("nothing");

    expect(engine.find("gw")).toEqual(old);
    expect(engine.find("gw.failed")?.Id).toBe(made.Id);
  });

  it("is never gone: somewhere it or a ready one is kept until the end", () => {
    const engine = new Engine([old, made]);

    engine.run(ready);

    const removal = engine.steps.findIndex((step) => step.do === "remove");
    expect(engine.steps.slice(removal + 1)).toEqual([{ do: "nothing" }]);
  });
});

describe("planStep", () => {
  it("starts the new container before it stops the old one, where both may run", () => {
    const engine = new Engine([buildContainer("gw"), buildMade("gw.next", "d1")]);

    engine.run(ready);

    expect(engine.steps.map((step) => step.do)).toEqual([
      "start",
      "stop",
      "rename",
      "rename",
      "remove",
      "nothing",
    ]);
  });

  it("stops the old one first where only one may run, also over a restart of the engine", () => {
    const host = { ...fixedPort, ...always };
    const engine = new Engine([
      buildContainer("gw", { host }),
      buildMade("gw.next", "d1", { host }),
    ]);

    engine.run(ready);

    expect(engine.steps.map((step) => step.do)).toEqual([
      "restart-policy",
      "stop",
      "rename",
      "rename",
      "start",
      "remove",
      "nothing",
    ]);
    expect(engine.steps[0]).toMatchObject({ policy: { Name: "unless-stopped" } });
  });

  it("waits for a container that is starting", () => {
    const engine = new Engine([buildContainer("gw"), buildMade("gw.next", "d1")]);

    expect(engine.run(() => ({ status: "starting" }))).toBe("wait");
    expect(engine.find("gw")?.State.Running).toBe(true);
  });

  it("connects the new one to the networks of the old one before it starts", () => {
    const networks = { front: { Aliases: ["gw", "gw-id"] }, back: { Aliases: [] } };
    const engine = new Engine([
      buildContainer("gw", { id: "gw-id", networks }),
      buildMade("gw.next", "d1", { networks: { front: {} } }),
    ]);

    engine.run(ready);

    expect(engine.steps.slice(0, 2)).toMatchObject([
      { do: "connect", network: "back" },
      { do: "start" },
    ]);
  });

  it("restores the old one when somebody has removed the new one meanwhile", () => {
    const stopped = { Status: "exited", Running: false };
    const engine = new Engine([buildContainer("gw.prev", { state: stopped })]);

    engine.run(ready);

    expect(engine.find("gw")?.State.Running).toBe(true);
  });

  it("gives up a new one whose old one still runs when it is to", () => {
    const engine = new Engine([
      buildContainer("gw", { host: fixedPort }),
      buildMade("gw.next", "d1", { host: fixedPort }),
    ]);

    engine.run(() => ({ status: "failed", reason: "cancelled" }));

    expect(engine.find("gw")?.State.Running).toBe(true);
    expect(engine.find("gw.failed")).toBeDefined();
  });

  it("leaves one alone that somebody has put in the place of the old one", () => {
    const other = buildContainer("gw", { id: "other", host: fixedPort });
    const engine = new Engine([other, buildMade("gw.next", "d1", { host: fixedPort })]);

    expect(engine.run(ready)).toBe("nothing");

    expect(engine.find("gw")).toEqual(other);
    expect(engine.names()).toEqual(["gw", "gw.failed"]);
  });

  it("keeps the new one when the old one was removed just before it failed", () => {
    const engine = new Engine([
      buildMade("gw.failing", "d1", { state: { Status: "exited", Running: false } }),
    ]);

    expect(engine.run(failing())).toBe("nothing");

    expect(engine.find("gw")?.State.Running).toBe(true);
  });

  it("puts right what another process has done late, after the end", () => {
    const engine = new Engine([
      buildContainer("gw", { host: always, state: { Status: "exited", Running: false } }),
      buildMade("gw.failed", "d1", { state: { Status: "running", Running: true } }),
    ]);

    expect(engine.run(failing())).toBe("nothing");

    expect(engine.find("gw")?.State.Running).toBe(true);
    expect(engine.find("gw.failed")?.State.Running).toBe(false);
  });

  it("leaves a failed one alone that nothing is there to go back to", () => {
    const engine = new Engine([buildMade("gw", "d1", { state: { Status: "exited" } })]);

    const verdict: Verdict = { status: "failed", reason: "crash_loop: exit code 1" };

    expect(engine.run(() => verdict)).toBe("nothing");
  });
});

describe("canOverlap", () => {
  it.each([
    ["a fixed port", { host: fixedPort }],
    ["the host's network", { host: { NetworkMode: "host" } }],
    ["a fixed address", { networks: { front: { IPAMConfig: { IPv4Address: "10.0.0.2" } } } }],
    ["the label that says so", { labels: { "vedette.replace": "stop-first" } }],
  ])("denies it for %s", (_, over) => {
    expect(canOverlap(buildContainer("gw", over))).toBe(false);
  });

  it("allows it for a port that the engine chooses", () => {
    const host = { PortBindings: { "80/tcp": [{ HostPort: "" }], "81/tcp": null } };

    expect(canOverlap(buildContainer("gw", { host }))).toBe(true);
  });
});
