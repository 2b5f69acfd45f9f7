/** kubectl, unchanged, at the API server that stands in for Kubernetes in the tests of our driver, and beside it. */
import { beforeAll, describe, expect, it } from "vitest";
import type { ApiServer } from "../support/kubernetes/api-server.ts";
import { imageAt, kubeImage, namespace } from "../support/kubernetes/fleet.ts";
import type { KubeObject } from "../support/kubernetes/objects.ts";
import {
  createDriver,
  createKubectl,
  orderOf,
  startCluster,
  untilSettled,
} from "./kubernetes/cluster.ts";
import { canRunKubectl, kubectlVersion, obtainKubectl } from "./kubernetes/obtain-kubectl.ts";

let program: string;

function live({ objects }: ApiServer): KubeObject {
  const found = objects.get({ resource: "deployments", namespace, name: "gw" });
  if (found === undefined) throw new Error("gw is gone");
  return found;
}

const setImage = (tag: string) => ["set", "image", "deployment/gw", `gateway=${kubeImage(tag)}`];

/** What somebody else keeps in a repository. */
function manifestOf(image: string): string {
  const labels = { app: "gw" };
  return JSON.stringify({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "gw", namespace },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "gateway", image }] } },
    },
  });
}

const applyAsOther = ["apply", "--server-side", "--field-manager=other", "-f", "-"];

describe.skipIf(!canRunKubectl())("kubectl", () => {
  beforeAll(async () => {
    program = await obtainKubectl();
  });

  it("is the version that is meant, and takes the double for a server of its own age", async () => {
    const { kubeconfig } = await startCluster([]);

    const { stdout } = await createKubectl(program, kubeconfig)(["version"]);

    expect(stdout).toContain(`Client Version: v${kubectlVersion}`);
    expect(stdout).toContain("Server Version: v1.36.0");
  });

  it("lists Deployments and their pods, of one namespace and of all", async () => {
    const { kubeconfig } = await startCluster(["gw", "gw-2"]);
    const kubectl = createKubectl(program, kubeconfig);

    const deployments = await kubectl(["get", "deployments", "-o", "name"]);
    const pods = await kubectl([
      ..."get pods -A -l app=gw-2 -o".split(" "),
      "jsonpath={.items[*].spec.containers[*].image}",
    ]);

    expect(deployments.stdout).toBe("deployment.apps/gw\ndeployment.apps/gw-2\n");
    expect(pods.stdout).toBe(kubeImage("v1"));
  });

  it("sets an image, and waits until its pods are available", async () => {
    const { server, kubeconfig } = await startCluster(["gw"], { readyMs: 300 });
    const kubectl = createKubectl(program, kubeconfig);

    const set = await kubectl(setImage("v2"));
    const rollout = await kubectl(["rollout", "status", "deployment/gw", "--timeout=20s"]);

    expect(set).toMatchObject({ code: 0, stdout: "deployment.apps/gw image updated\n" });
    expect(rollout).toMatchObject({ code: 0, stderr: "" });
    expect(rollout.stdout).toMatch(/^deployment "gw" successfully rolled out$/m);
    expect(live(server).status).toMatchObject({ updatedReplicas: 1, availableReplicas: 1 });
    expect(server.faults).toEqual([]);
  });

  it("tells of a deadline that pods have missed", async () => {
    const { kubeconfig } = await startCluster();
    const kubectl = createKubectl(program, kubeconfig);
    await kubectl(["patch", "deployment", "gw", "-p", '{"spec":{"progressDeadlineSeconds":1}}']);
    await kubectl(setImage("v2-sick"));

    const rollout = await kubectl(["rollout", "status", "deployment/gw", "--timeout=20s"]);

    expect(rollout.code).toBe(1);
    expect(rollout.stderr).toBe('error: deployment "gw" exceeded its progress deadline\n');
  });

  it.each(["strategic", "merge"])(
    "changes it by a %s patch, and waits for a condition",
    async (type) => {
      const { server, kubeconfig } = await startCluster();
      const kubectl = createKubectl(program, kubeconfig);

      const patched = await kubectl([
        ...["patch", "deployment", "gw", `--type=${type}`],
        ...["-p", '{"metadata":{"labels":{"tier":"edge"}},"spec":{"replicas":2}}'],
      ]);
      const waited = await kubectl([
        ..."wait --for=condition=Available deployment/gw --timeout=20s".split(" "),
      ]);

      expect(patched).toMatchObject({ code: 0, stdout: "deployment.apps/gw patched\n" });
      expect(waited).toMatchObject({ code: 0, stdout: "deployment.apps/gw condition met\n" });
      expect(live(server).metadata.labels).toMatchObject({ tier: "edge", "vedette.sentinel": "" });
      expect(live(server).metadata.managedFields?.at(-1)?.manager).toBe("kubectl-patch");
      expect(imageAt(server, "gw")).toBe(kubeImage("v1"));
    },
  );

  it("shows what an apply would change, and nothing is changed by that", async () => {
    const { server, kubeconfig } = await startCluster();
    const before = live(server);

    const diff = ["diff", "-f", "-"];
    const { code, stdout } = await createKubectl(program, kubeconfig)(
      diff,
      manifestOf(kubeImage("v9")),
    );

    expect(code).toBe(1);
    expect(stdout).toContain(`-      - image: ${kubeImage("v1")}`);
    expect(stdout).toContain(`+      - image: ${kubeImage("v9")}`);
    expect(live(server)).toEqual(before);
  });

  it("names what is not there, what it does not know, and what it may not do", async () => {
    const { server, kubeconfig } = await startCluster();
    const kubectl = createKubectl(program, kubeconfig);

    const [gone, unknown, stranger] = await Promise.all([
      kubectl(["get", "deployment", "gone"]),
      kubectl(["patch", "deployment", "gw", "--type=json", "-p", "[]"]),
      kubectl(["get", "--raw", "/apis/apps/v1", "--token=stale"]),
    ]);

    expect(gone.stderr).toBe('Error from server (NotFound): deployments.apps "gone" not found\n');
    expect(unknown.stderr).toMatch(
      /^error: application\/json-patch\+json is not supported by apps\/v1/,
    );
    expect(stranger.stderr).toMatch(/\(Unauthorized\)\n$/);
    expect([gone, unknown, stranger].map(({ code }) => code)).toEqual([1, 1, 1]);
    expect(server.faults).toEqual([]);
  });

  it("finds a deploy of ours complete as soon as we do", async () => {
    const cluster = await startCluster(["gw"], { readyMs: 300 });
    const driver = createDriver(cluster);
    await driver.apply(orderOf("v2"));

    const [rollout, seen] = await Promise.all([
      createKubectl(
        program,
        cluster.kubeconfig,
      )("rollout status deployment/gw --timeout=20s".split(" ")),
      untilSettled(driver, orderOf("v2")),
    ]);

    expect(rollout).toMatchObject({ code: 0 });
    expect(seen).toMatchObject({ status: "ready", running_image: kubeImage("v2") });
    expect(imageAt(cluster.server, "gw")).toBe(kubeImage("v2"));
  });

  it("is refused an image that we have deployed, and told that it is ours", async () => {
    const cluster = await startCluster();
    await createDriver(cluster).apply(orderOf("v2"));

    const kubectl = createKubectl(program, cluster.kubeconfig);
    const { code, stderr } = await kubectl(applyAsOther, manifestOf(kubeImage("v9")));

    const field = '.spec.template.spec.containers[name="gateway"].image';
    expect(code).toBe(1);
    expect(stderr).toContain(`Apply failed with 1 conflict: conflict with "vedette": ${field}\n`);
    expect(imageAt(cluster.server, "gw")).toBe(kubeImage("v2"));
  });

  it("applies the same image as we: both of us have it then", async () => {
    const cluster = await startCluster();
    await createDriver(cluster).apply(orderOf("v2"));
    const { generation } = live(cluster.server).metadata;

    const kubectl = createKubectl(program, cluster.kubeconfig);
    const { code } = await kubectl(applyAsOther, manifestOf(kubeImage("v2")));

    const owners = live(cluster.server).metadata.managedFields?.filter(({ fieldsV1 }) =>
      JSON.stringify(fieldsV1).includes("f:image"),
    );
    expect(code).toBe(0);
    expect(owners?.map(({ manager }) => manager)).toEqual(["vedette", "other"]);
    expect(live(cluster.server).metadata.generation).toBe(generation);
  });

  it("takes the image by force: our deploy fails and says by whom, the next one too", async () => {
    const cluster = await startCluster();
    const driver = createDriver(cluster);
    await driver.apply(orderOf("v2-sick"));

    const kubectl = createKubectl(program, cluster.kubeconfig);
    const forced = [...applyAsOther, "--force-conflicts"];
    const { code } = await kubectl(forced, manifestOf(kubeImage("v9")));
    const seen = await untilSettled(driver, orderOf("v2-sick"));
    const next = await driver.apply(orderOf("v2"));

    expect(code).toBe(0);
    expect(seen.reason).toBe("conflict: the image was changed by other");
    expect(next.failure).toBe('conflict: conflict with "other"');
    expect(imageAt(cluster.server, "gw")).toBe(kubeImage("v9"));
  });

  it("sets another image in the middle of our deploy: that fails, and theirs stays", async () => {
    const cluster = await startCluster();
    const driver = createDriver(cluster);
    await driver.apply(orderOf("v2-sick"));

    await createKubectl(program, cluster.kubeconfig)(setImage("hotfix"));
    const seen = await untilSettled(driver, orderOf("v2-sick"));

    expect(seen.reason).toBe("conflict: the image was changed by kubectl-set");
    expect(imageAt(cluster.server, "gw")).toBe(kubeImage("hotfix"));
  });
});
