/** What the chart gives to which role, and at which address Restate reaches the worker. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { settingsOf } from "../support/program/rendered-settings.ts";
import {
  find,
  type Manifest,
  ofKind,
  plain,
  readManifests,
  render,
  setFile,
  type sets,
} from "./chart/helm.ts";
import { isSelected, podOf } from "./chart/pod.ts";
import { startServiceServer } from "./chart/service-server.ts";
import { canRunKubectl, obtainHelm } from "./kubernetes/obtain-kubectl.ts";

let helm: string;

const objectsOf = (name: (typeof sets)[number]) => render(helm, { files: [setFile(name)] });

describe.skipIf(!canRunKubectl())("the chart's roles", () => {
  beforeAll(async () => {
    helm = await obtainHelm();
  });

  it("gives the fleet's Role the rights of deploy/kubernetes/fleet-rbac.yaml", async () => {
    const [role] = readManifests(readFileSync(path.join(plain, "fleet-rbac.yaml"), "utf8"));

    const made = ofKind(await objectsOf("production"), "Role");

    expect(made.map(({ metadata }) => metadata.namespace)).toEqual([
      "edge-eu",
      "edge-us",
      "edge-ap",
    ]);
    for (const one of made) expect(one["rules"]).toEqual(role?.["rules"]);
  });

  it("gives it those of fleet-members-rbac.yaml too, where a fleet has sets, in the namespaces of all fleets", async () => {
    const rulesOf = (file: string): unknown[] =>
      readManifests(readFileSync(path.join(plain, file), "utf8"))[0]?.["rules"];

    const made = ofKind(await objectsOf("everything"), "Role");

    const rules = [...rulesOf("fleet-rbac.yaml"), ...rulesOf("fleet-members-rbac.yaml")];
    expect(made.map(({ metadata }) => metadata.namespace)).toEqual(["edge", "edge-2", "canary"]);
    for (const one of made) expect(one["rules"]).toEqual(rules);
  });

  it("has the numbers of the values in the settings, whatever helm makes of them", async () => {
    const config = settingsOf(await objectsOf("everything"));

    expect(config).toMatchObject({
      api: { port: 8070, cached_keys: 1_500_000 },
      fleet: { kubernetes: { namespaces: ["edge", "edge-2"] } },
    });
  });

  it("gives a token of the cluster to the worker alone, and only for the driver kubernetes", async () => {
    const withToken = async (name: (typeof sets)[number]) =>
      ofKind(await objectsOf(name), "Deployment")
        .filter((one) => podOf(one).automountServiceAccountToken)
        .map(({ metadata }) => metadata.name);

    expect(await withToken("smallest")).toEqual([]);
    expect(await withToken("production")).toEqual(["vedette-worker"]);
    expect(ofKind(await objectsOf("smallest"), "Role")).toEqual([]);
  });

  it("gives each role the secrets that it needs, and no other", async () => {
    const objects = await objectsOf("everything");
    const filesOf = (role: string) =>
      (podOf(find(objects, "Deployment", `rollouts-${role}`)).container.env ?? [])
        .filter(({ name }) => name.endsWith("_FILE"))
        .map(({ name }) => name.replace("_FILE", ""));

    expect(filesOf("api")).toEqual([
      "CLICKHOUSE_URL",
      "DATABASE_URL",
      "REDIS_URL",
      "VEDETTE_API__ENCRYPTION_KEYS",
      "VEDETTE_ROOT_KEY",
    ]);
    expect(filesOf("control")).toEqual([
      "CLICKHOUSE_URL",
      "DATABASE_URL",
      "INGRESS_TOKEN",
      "VEDETTE_INCIDENT__API_KEY",
      "VEDETTE_MONITOR__KEY",
      "VEDETTE_MONITOR__ROOT_KEY",
      "VEDETTE_SECRET_SHOP_TOKEN",
    ]);
    expect(podOf(find(objects, "Deployment", "rollouts-control")).container.env).toContainEqual({
      name: "VEDETTE_SECRET_SHOP_TOKEN_HOSTS",
      value: "shop.example.com, www.example.com:443",
    });
    expect(filesOf("worker")).not.toContain("REDIS_URL");
    expect(filesOf("worker")).toContain("VEDETTE_ALERTS__STAGING__TOKEN");
    expect(filesOf("worker")).toContain("VEDETTE_FLEETS__STAGING__HTTP__TOKEN");
  });

  it("leaves the number of an autoscaled api open, and gives no budget to a single replica", async () => {
    const objects = await objectsOf("everything");

    expect(find(objects, "Deployment", "rollouts-api")["spec"]).not.toHaveProperty("replicas");
    expect(find(objects, "HorizontalPodAutoscaler", "rollouts-api")["spec"].metrics).toHaveLength(
      3,
    );
    const budgets = ofKind(objects, "PodDisruptionBudget").map(({ metadata }) => metadata.name);
    expect(budgets).toEqual(["rollouts-worker", "rollouts-api"]);
  });

  it("migrates before it installs and upgrades, with the address of the database alone", async () => {
    const [job] = ofKind(await objectsOf("production"), "Job");
    const { container, volumes, ...pod } = podOf(job as Manifest);

    expect(job?.metadata.annotations).toMatchObject({ "helm.sh/hook": "pre-install,pre-upgrade" });
    expect(container.args).toEqual(["migrate"]);
    expect(container.env?.map(({ name }) => name)).toEqual([
      "DATABASE_DIRECT_URL_FILE",
      "DATABASE_URL_FILE",
    ]);
    // The release's own service account and ConfigMap are not there yet.
    expect(pod).not.toHaveProperty("serviceAccountName");
    expect(volumes.map(({ name }) => name)).toEqual(["secrets", "tmp"]);
  });

  it("writes a new checksum on the pods when a setting changes, and only then", async () => {
    const sumOf = async (over: object) => {
      const objects = await render(helm, { files: [setFile("smallest")], over });
      const { template: made } = find(objects, "Deployment", "vedette-api")["spec"];
      return made.metadata.annotations["checksum/config"];
    };

    const before = await sumOf({});

    expect(await sumOf({ api: { replicas: 5 } })).toBe(before);
    expect(await sumOf({ config: { log: { level: "debug" } } })).not.toBe(before);
  });

  describe("the worker's address", () => {
    const workerOf = async (over: object, cluster: { kubeconfig?: string } = {}) => {
      const objects = await render(helm, { files: [setFile("smallest")], over, ...cluster });
      const worker = find(objects, "Deployment", "vedette-worker");
      const { labels, container } = podOf(worker);
      const services = ofKind(objects, "Service").filter(
        ({ metadata }) => metadata.labels?.["vedette.dev/worker-address"],
      );
      const url = container.env?.find(({ name }) => name === "VEDETTE_WORKER__ADVERTISED_URL");
      return { url: url?.value, labels, strategy: worker["spec"].strategy, services };
    };

    it("is a Service of the image's own: another image, another address", async () => {
      const first = await workerOf({ image: { tag: "v1" } });
      const again = await workerOf({ image: { tag: "v1" }, config: { log: { level: "debug" } } });
      const second = await workerOf({ image: { tag: "v2" } });

      const [service] = first.services;
      expect(first.url).toBe(`http://${service?.metadata.name}.vedette.svc:9480`);
      expect(again.url).toBe(first.url);
      expect(second.url).not.toBe(first.url);
      // Restate calls a worker before it is ready.
      expect(service?.["spec"].publishNotReadyAddresses).toBe(true);
      expect(isSelected(service?.["spec"].selector, first.labels)).toBe(true);
      expect(isSelected(service?.["spec"].selector, second.labels)).toBe(false);
      expect(first.strategy).toBeUndefined();
    });

    it("keeps the Services of former revisions, which lead to the workers of any revision", async () => {
      const first = await workerOf({ image: { tag: "v1" } });
      const former = [first.services[0]?.metadata.name ?? ""];

      const second = await workerOf({ image: { tag: "v2" }, worker: { service: { former } } });

      const kept = second.services.find(({ metadata }) => metadata.name === former[0]);
      expect(second.services).toHaveLength(2);
      expect(kept?.["spec"].publishNotReadyAddresses).toBe(true);
      expect(isSelected(kept?.["spec"].selector, first.labels)).toBe(true);
      expect(isSelected(kept?.["spec"].selector, second.labels)).toBe(true);
    });

    it("finds the Services of former revisions in the cluster, and those of this release alone", async () => {
      const ofRelease = (instance: string) => ({
        "app.kubernetes.io/instance": instance,
        "vedette.dev/worker-address": "true",
      });
      const { services: own } = await workerOf({});
      const kubeconfig = await startServiceServer([
        { name: "vedette-worker-0123456789", labels: ofRelease("vedette") },
        { name: own[0]?.metadata.name ?? "", labels: ofRelease("vedette") },
        { name: "other-worker-0123456789", labels: ofRelease("other") },
        { name: "vedette-api", labels: { "app.kubernetes.io/instance": "vedette" } },
        { name: "kubernetes" },
      ]);

      // That cluster has no such kind.
      const over = { networkPolicy: { enabled: false } };
      const found = await workerOf(over, { kubeconfig });
      const worker = { service: { findFormer: false } };
      const off = await workerOf({ ...over, worker }, { kubeconfig });

      const names = found.services.map(({ metadata }) => metadata.name);
      expect(names.toSorted()).toEqual(
        ["vedette-worker-0123456789", own[0]?.metadata.name].toSorted(),
      );
      expect(off.services).toHaveLength(1);
    });

    it("may be one for all revisions, which then never run side by side", async () => {
      const over = { worker: { service: { perRevision: false } } };

      const { url, strategy, services } = await workerOf(over);

      expect(url).toBe("http://vedette-worker.vedette.svc:9480");
      expect(strategy).toEqual({ type: "Recreate" });
      expect(services[0]?.["spec"].selector).not.toHaveProperty("vedette.dev/revision");
    });

    it("may be one outside of the cluster, with the revision in it", async () => {
      const advertisedUrl = 'https://{{ include "vedette.revision" . }}.workers.example.com';

      const own = await workerOf({ worker: { advertisedUrl, revision: "r7" } });
      const shared = await workerOf({ worker: { advertisedUrl: "https://workers.example.com" } });

      expect(own).toMatchObject({ url: "https://r7.workers.example.com", strategy: undefined });
      expect(shared.strategy).toEqual({ type: "Recreate" });
    });
  });
});
