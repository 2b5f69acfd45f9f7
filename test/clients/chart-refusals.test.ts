/** What the chart refuses: what a start would refuse, secrets among the settings, and wrong values. */
import { beforeAll, describe, expect, it } from "vitest";
import { secrets } from "../support/program/rendered-settings.ts";
import { ofKind, prometheus, render, setFile, template } from "./chart/helm.ts";
import { canRunKubectl, obtainHelm } from "./kubernetes/obtain-kubectl.ts";

let helm: string;

describe.skipIf(!canRunKubectl())("the chart refuses", () => {
  beforeAll(async () => {
    helm = await obtainHelm();
  });

  const refusalOf = async (
    over: object,
    files: string[] = [setFile("smallest")],
    apis: string[] = [],
  ) => {
    const { code, stderr } = await template(helm, { files, over, apis });
    expect(code).not.toBe(0);
    return stderr;
  };

  it("is named all at once when nothing is set", async () => {
    const said = await refusalOf({}, []);

    for (const line of [
      'image.repository: set the image that you have built and pushed (docs/kubernetes.md, "The image")',
      "config.restate.ingress_url: the roles worker and control need the address of your Restate",
      "config.fleet.driver: set kubernetes, docker or http",
      "config.restate.identity_keys: set the public key of your Restate",
      "secrets.CLICKHOUSE_URL: needed by worker, control, api: name the Secret that has it, or set config.analytics.enabled: false",
      "secrets.DATABASE_URL: needed by worker, control, api: name the Secret that has it",
      "secrets.INGRESS_TOKEN: needed by control: name the Secret that has it",
      "secrets.REDIS_URL: needed by api: name the Secret that has it",
      "secrets.VEDETTE_ROOT_KEY: needed by api: name the Secret that has it",
      "secrets.VEDETTE_API__ENCRYPTION_KEYS: needed by api: name the Secret that has it",
    ]) {
      expect(said).toContain(line);
    }
  });

  it("is asked of the roles that there are", async () => {
    const over = {
      worker: { enabled: false },
      control: { enabled: false },
      config: { restate: { ingress_url: "", admin_url: "" }, fleet: { driver: "" } },
    };

    const objects = await render(helm, { files: [setFile("smallest")], over });

    expect(ofKind(objects, "Deployment").map(({ metadata }) => metadata.name)).toEqual([
      "vedette-api",
    ]);
  });

  it.each(secrets)("a secret among the settings: %s", async (setting) => {
    const config = setting
      .split(".")
      .reduceRight<unknown>((inner, word) => ({ [word]: inner }), "hunter2secret");

    const said = await refusalOf({ config });

    expect(said).toContain(`config.${setting}: is a secret and does not belong into a ConfigMap`);
    expect(said).not.toContain("hunter2secret");
  });

  it.each([
    [{ secrets: { DATABASE_URI: {} } }, "secrets.DATABASE_URI: is no secret of Vedette"],
    [
      { existingSecret: "" },
      "secrets.DATABASE_URL.name: set the Secret that has it, or existingSecret",
    ],
    [
      { worker: { service: { perRevision: false }, strategy: { type: "RollingUpdate" } } },
      "worker.strategy: workers of two revisions may not share an address",
    ],
    [
      { api: { autoscaling: { enabled: true, minReplicas: 5, maxReplicas: 2 } } },
      "api.autoscaling: minReplicas is more than maxReplicas",
    ],
    [
      { api: { autoscaling: { enabled: true }, resources: { requests: { cpu: null } } } },
      "api.resources.requests.cpu: api.autoscaling.targetCPUUtilizationPercentage is a share of it",
    ],
    [
      { networkPolicy: { workerFrom: [] } },
      "networkPolicy.workerFrom: name the pods of your Restate",
    ],
    [{ control: { ingress: { enabled: true } } }, "control.ingress.hosts: name the host"],
    [{ api: { httpRoute: { enabled: true } } }, "api.httpRoute.parentRefs: name the Gateway"],
    [
      { metrics: { serviceMonitor: { enabled: true } } },
      `metrics.serviceMonitor.enabled: this cluster has no ${prometheus}`,
    ],
    [
      { metrics: { rules: { enabled: true } } },
      `metrics.rules.enabled: this cluster has no ${prometheus}`,
    ],
    [{ config: { fleet: { http: { url: "" } } } }, "config.fleet.http.url: the driver http needs"],
  ])("%j", async (over, line) => {
    expect(await refusalOf(over)).toContain(line);
  });

  it.each([
    [{ replicas: 2 }, "at '': additional properties 'replicas' not allowed"],
    [{ worker: { replics: 2 } }, "at '/worker': additional properties 'replics' not allowed"],
    [{ api: { replicas: -1 } }, "at '/api/replicas': minimum: got -1, want 0"],
    [{ image: { digest: "sha256:1" } }, "at '/image/digest': 'sha256:1' does not match pattern"],
    [
      { image: { repository: "team/vedette:v1" } },
      "at '/image/repository': 'team/vedette:v1' does not",
    ],
    [{ control: { service: { port: 70000 } } }, "at '/control/service/port': maximum: got 70,000"],
    [{ api: { strategy: { type: "Rolling" } } }, "at '/api/strategy/type': value must be one of"],
    [{ secrets: { database_url: {} } }, "invalid propertyName 'database_url'"],
    [
      { secrets: { REDIS_URL: { value: "x" } } },
      "at '/secrets/REDIS_URL': additional properties 'value'",
    ],
    [{ extraObjects: [7] }, "at '/extraObjects/0': got number, want"],
  ])("values.schema.json: %j", async (over, line) => {
    expect(await refusalOf(over)).toContain(line);
  });

  it("values.schema.json allows what a parent chart shares", async () => {
    const over = { global: { imageRegistry: "registry.example.com" } };

    expect((await template(helm, { files: [setFile("smallest")], over })).code).toBe(0);
  });
});
