/** Rollouts over 200 Deployments and two sets by the commands that a user types, with no more rights than the manifests give. */
import { readFileSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { parseAllDocuments } from "yaml";
import { type ApiServer, adminToken, startApiServer } from "../../support/kubernetes/api-server.ts";
import {
  addDeployment,
  addSet,
  imagesOfPods,
  kubeImage,
  namespace,
  untilAvailable,
  writeKubeconfig,
} from "../../support/kubernetes/fleet.ts";
import { runVedette } from "../../support/program/command.ts";
import { startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

const size = 200;
const names = Array.from({ length: size }, (_, n) => `gw-${String(n).padStart(3, "0")}`);

type Rule = { resources: string[]; verbs: string[] };

/** "patch deployments" for each thing that the manifests allow. */
function readRights(): Set<string> {
  const rules = ["fleet-rbac", "fleet-members-rbac"].flatMap((name) => {
    const text = readFileSync(`deploy/kubernetes/${name}.yaml`, "utf8");
    const [role] = parseAllDocuments(text).map((document) => document.toJS() as { rules: Rule[] });
    return role?.rules ?? [];
  });
  return new Set(
    rules.flatMap(({ resources, verbs }) =>
      resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`)),
    ),
  );
}

function imagesAt(server: ApiServer): Record<string, string> {
  const found = server.objects.list("deployments", namespace);
  const ofDeployments = found.map(
    ({ metadata, spec }) => [metadata.name, spec.template.spec.containers[0].image] as const,
  );
  const ofMembers = { ...imagesOfPods(server, "state"), ...imagesOfPods(server, "edge") };
  return { ...Object.fromEntries(ofDeployments), ...ofMembers };
}

/** Of the StatefulSet and of the DaemonSet. */
const members = ["0", "1", "2", "node-a", "node-b"];

const all = (image: (name: string) => string) =>
  Object.fromEntries([...names, ...members].map((name) => [name, image(name)]));

/** Every other Deployment runs another image than the rest. */
const before = (name: string) =>
  kubeImage(members.includes(name) || Number(name.slice(3)) % 2 === 0 ? "v1" : "v2");

async function startFleet() {
  const rights = readRights();
  const server = await startApiServer({
    tokens: {
      worker: ({ verb, resource }) => rights.has(`${verb} ${resource}`),
      [adminToken]: () => true,
    },
  });
  for (const name of names) addDeployment(server, name, { image: before(name) });
  const labels = { tier: "canary" };
  addSet(server, "state", { replicas: 3, labels, spec: { podManagementPolicy: "Parallel" } });
  addSet(server, "edge", { kind: "DaemonSet", labels });
  await untilAvailable(server);
  const kubeconfig = writeKubeconfig(server.url, "worker");
  onTestFinished(kubeconfig.remove);
  const program = await startProgram({
    VEDETTE_FLEET__DRIVER: "kubernetes",
    VEDETTE_FLEET__KUBERNETES__KINDS: "deployments,statefulsets,daemonsets",
    VEDETTE_FLEET__KUBERNETES__STABLE_SECONDS: "0",
    VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "false",
    KUBECONFIG: kubeconfig.path,
  });
  onTestFinished(program.dispose);
  const vedette = (...args: string[]) => runVedette(args, { VEDETTE_DATA_DIR: program.dataDir });
  return { rights, server, program, vedette };
}

it("rolls out over 200 Deployments and the members of two sets, back to what each of them had, and on after a kill", async () => {
  const { rights, server, program, vedette } = await startFleet();

  const failed = await vedette(
    "rollout",
    "start",
    kubeImage("v3-crash"),
    "--waves",
    "5,100",
    "--canary",
    "tier=canary",
    "--wait",
  );
  const rolledBack = await vedette("rollout", "rollback");

  expect([failed.code, failed.stdout]).toEqual([
    2,
    expect.stringContaining("crash_loop: exit code 1"),
  ]);
  expect([rolledBack.code, imagesAt(server)]).toEqual([0, all(before)]);

  await vedette("rollout", "start", kubeImage("v4"), "--waves", "10,100");
  const isUnderWay = () => Object.values(imagesAt(server)).includes(kubeImage("v4"));
  await waitFor(isUnderWay, { withinMs: 60_000, what: "a deploy to be under way" });
  program.kill9("main");
  await program.start();
  const watched = await vedette("rollout", "watch");

  expect(watched.code).toBe(0);
  expect(imagesAt(server)).toEqual(all(() => kubeImage("v4")));
  expect(server.faults).toEqual([]);
  const asked = new Set(
    server.requests
      .filter(({ token }) => token === "worker")
      .map(({ verb, resource }) => `${verb} ${resource}`),
  );
  expect(asked).toEqual(rights);
});
