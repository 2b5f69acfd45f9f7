/** The Helm chart, rendered by the published helm: every object by Kubernetes' schemas, and what belongs together. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { isRead, secrets, settingsOf, valueAt } from "../support/program/rendered-settings.ts";
import {
  chart,
  find,
  type Manifest,
  ofKind,
  plain,
  plainFile,
  readManifests,
  render,
  runHelm,
  setFile,
  sets,
  template,
} from "./chart/helm.ts";
import { isSelected, type Pod, podOf, portOf } from "./chart/pod.ts";
import { findFaults } from "./chart/validate.ts";
import { canRunKubectl, helmVersion, obtainHelm } from "./kubernetes/obtain-kubectl.ts";

let helm: string;

const rendered = new Map<string, Promise<Manifest[]>>();

/** Each set once. */
function objectsOf(name: (typeof sets)[number]): Promise<Manifest[]> {
  const known = rendered.get(name) ?? render(helm, { files: [setFile(name)] });
  rendered.set(name, known);
  return known;
}

async function faultsOf(objects: readonly Manifest[]): Promise<string[]> {
  const each = objects.map(async (object) =>
    (await findFaults(object)).map((fault) => `${object.kind} ${object.metadata.name}${fault}`),
  );
  return (await Promise.all(each)).flat();
}

const podsOf = (objects: readonly Manifest[]): Pod[] =>
  [...ofKind(objects, "Deployment"), ...ofKind(objects, "Job")].map(podOf);

/** Variables of Node's, those of rows and registries, and the one that names the settings' file. */
const others = /^(NODE_|VEDETTE_SECRET_|REGISTRY_AUTH_|VEDETTE_CONFIG$)/;

describe.skipIf(!canRunKubectl())("the chart", () => {
  beforeAll(async () => {
    helm = await obtainHelm();
  });

  it("is rendered by the helm that is meant", async () => {
    expect((await runHelm(helm, ["version", "--short"])).stdout).toContain(`v${helmVersion}`);
  });

  it("is packed without the values of its tests", async () => {
    const packed = await runHelm(helm, ["package", chart]);
    const archive = /saved it to: (.+)$/m.exec(packed.stdout)?.[1] ?? "";

    const { stdout } = await runHelm(helm, ["show", "values", archive]);

    expect(parse(stdout)).toEqual(parse(readFileSync(path.join(chart, "values.yaml"), "utf8")));
  });

  it("is judged by schemas that know every field, of Kubernetes and of the other groups", async () => {
    const objects = await objectsOf("everything");
    const spoilt = (kind: string, spoil: (of: Manifest["spec"]) => void) => {
      const copy = structuredClone(ofKind(objects, kind)[0] as Manifest);
      spoil(copy["spec"]);
      return faultsOf([copy]);
    };

    const found = await Promise.all([
      spoilt("Deployment", (of) => {
        of.template.spec.containers[0].imagePullPolice = "Always";
      }),
      spoilt("Deployment", (of) => {
        of.template.spec.containers[0].resources.limits.memory = "much";
      }),
      spoilt("Service", (of) => {
        of.ports[0].port = "http";
      }),
      spoilt("HTTPRoute", (of) => {
        of.rules[0].backends = [];
      }),
      spoilt("ServiceMonitor", (of) => {
        of.endpoint = [];
      }),
      spoilt("PrometheusRule", (of) => {
        of.groups[0].rules[0].expression = "1";
      }),
    ]);

    expect(found.filter((faults) => faults.length === 0)).toEqual([]);
    expect(found.flat().join("\n")).toMatch(/backends[\s\S]*endpoint[\s\S]*expression/);
  });

  describe.each(sets)("with the values %s", (name) => {
    it("passes helm lint --strict", async () => {
      const { code, stdout } = await runHelm(helm, [
        "lint",
        "--strict",
        chart,
        "-f",
        setFile(name),
      ]);

      expect(stdout).toContain("1 chart(s) linted, 0 chart(s) failed");
      expect(code).toBe(0);
    });

    it("makes objects that Kubernetes' schemas allow, each once", async () => {
      const objects = await objectsOf(name);
      const ids = objects.map(({ kind, metadata }) =>
        [kind, metadata.namespace, metadata.name].join("/"),
      );

      expect(await faultsOf(objects)).toEqual([]);
      expect(new Set(ids).size).toBe(ids.length);
    });

    it("asks the probes' paths at a port that there is", async () => {
      const deployments = ofKind(await objectsOf(name), "Deployment");

      for (const { container } of deployments.map(podOf)) {
        const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];
        expect(probes.map(({ httpGet }) => httpGet.path)).toEqual(["/livez", "/livez", "/readyz"]);
        const ports = probes.map(({ httpGet }) => portOf(container, httpGet.port));
        expect(ports).not.toContain(undefined);
      }
    });

    it("leads every Service to pods that have its port", async () => {
      const objects = await objectsOf(name);
      const pods = podsOf(objects);

      for (const { metadata, spec: wished } of ofKind(objects, "Service")) {
        const selected = pods.filter(({ labels }) => isSelected(wished.selector, labels));
        const wanted: string[] = wished.ports.map(
          (port: { targetPort: string }) => port.targetPort,
        );
        const lacking = selected.filter(({ container }) =>
          wanted.some((port) => portOf(container, port) === undefined),
        );
        expect({ name: metadata.name, lacking }).toEqual({ name: metadata.name, lacking: [] });
        expect(selected, metadata.name).not.toEqual([]);
      }
    });

    it("selects the pods of a role alone in Deployments, budgets and policies", async () => {
      const objects = await objectsOf(name);
      const selecting = [
        ...ofKind(objects, "Deployment").map((one) => [one, one["spec"].selector.matchLabels]),
        ...ofKind(objects, "PodDisruptionBudget").map((one) => [
          one,
          one["spec"].selector.matchLabels,
        ]),
        ...ofKind(objects, "NetworkPolicy").map((one) => [
          one,
          one["spec"].podSelector.matchLabels,
        ]),
      ] as const;

      const every = [...ofKind(objects, "Deployment"), ...ofKind(objects, "Job")];
      for (const [one, selector] of selecting) {
        const found = every.filter((workload) => isSelected(selector, podOf(workload).labels));
        expect(found.map(({ metadata }) => metadata.name)).toEqual([one.metadata.name]);
      }
      expect(selecting.length).toBeGreaterThanOrEqual(3);
    });

    it("sets no variable that the program does not know", async () => {
      const pods = [
        ...podsOf(await objectsOf(name)),
        ...ofKind(await objectsOf(name), "Job").map(podOf),
      ];

      const names = pods.flatMap(({ container }) => container.env ?? []).map((one) => one.name);
      const ours = names.filter((one) => !others.test(one));

      expect(ours.filter((one) => !isRead(one))).toEqual([]);
      expect(ours).toContain("VEDETTE_WORKER__ADVERTISED_URL");
      expect(ours).toContain("DATABASE_URL_FILE");
    });

    it("mounts only volumes that there are, and each secret that a variable names", async () => {
      const workloads = await objectsOf(name);
      const pods = [...ofKind(workloads, "Deployment"), ...ofKind(workloads, "Job")].map(podOf);

      for (const { container, volumes } of pods) {
        const mounted = container.volumeMounts.map((mount) => mount.name);
        expect(volumes.map((volume) => volume.name).toSorted()).toEqual(mounted.toSorted());
        const files = (container.env ?? []).filter((one) => one.name.endsWith("_FILE"));
        const sources = volumes.flatMap(({ projected }) => projected?.sources ?? []);
        const paths = sources.flatMap(({ secret }) => secret.items.map((item) => item.path));
        expect(files.map(({ value }) => value)).toEqual(
          paths.map((file) => `/etc/vedette/secrets/${file}`),
        );
      }
    });

    it("meets the restricted Pod Security Standard", async () => {
      const workloads = await objectsOf(name);

      for (const one of [...ofKind(workloads, "Deployment"), ...ofKind(workloads, "Job")]) {
        const { spec: pod } = one["spec"].template;
        expect(pod.securityContext).toMatchObject({
          runAsNonRoot: true,
          runAsUser: 1000,
          seccompProfile: { type: "RuntimeDefault" },
        });
        expect(pod.containers[0].securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        });
        const kinds = pod.volumes.flatMap((volume: object) => Object.keys(volume));
        expect(kinds).not.toContain("hostPath");
        expect(pod).not.toHaveProperty("hostNetwork");
      }
    });

    it("has settings that the program reads, and no secret among them", async () => {
      const objects = await objectsOf(name);

      const config = settingsOf(objects);

      expect(config.deployment).toBe("distributed");
      expect([config.api.host, config.metrics.host]).toEqual(["0.0.0.0", "0.0.0.0"]);
      const given = secrets.filter((setting) => String(valueAt(config, setting) ?? ""));
      expect(given).toEqual([]);
    });
  });

  describe("the plain manifests", () => {
    it("are what the chart makes of deploy/kubernetes/values.yaml", async () => {
      const { stdout } = await template(helm, { files: [plainFile] });

      await expect(stdout).toMatchFileSnapshot(path.join(plain, "vedette.yaml"));
    });

    it.each(["vedette.yaml", "trial.yaml", "fleet-rbac.yaml"])(
      "of %s are as Kubernetes' schemas have them",
      async (file) => {
        const objects = readManifests(readFileSync(path.join(plain, file), "utf8"));

        expect(await faultsOf(objects)).toEqual([]);
        expect(objects.length).toBeGreaterThan(1);
      },
    );

    it("find what they need in the trial's, at its addresses and ports", async () => {
      const trial = readManifests(readFileSync(path.join(plain, "trial.yaml"), "utf8"));
      const { restate } = settingsOf(await render(helm, { files: [plainFile] }));

      const services = ofKind(trial, "Service").flatMap(({ metadata, spec }) =>
        spec.ports.map(({ port }: { port: number }) => `http://${metadata.name}:${port}`),
      );
      expect(services).toEqual(expect.arrayContaining([restate.ingress_url, restate.admin_url]));
      const workloads = [...ofKind(trial, "StatefulSet"), ...ofKind(trial, "Deployment")];
      for (const service of ofKind(trial, "Service")) {
        const { container } = podOf(
          find(workloads, kindOf(workloads, service), service.metadata.name),
        );
        for (const { targetPort } of service["spec"].ports) {
          expect(portOf(container, targetPort)).toBeDefined();
        }
      }
    });
  });
});

function kindOf(workloads: readonly Manifest[], { metadata }: Manifest): string {
  return workloads.find((one) => one.metadata.name === metadata.name)?.kind ?? "none";
}
