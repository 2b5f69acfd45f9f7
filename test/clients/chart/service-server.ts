/** As much of an API server as helm's `lookup` of Services asks for. */

import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { onTestFinished } from "vitest";
import { tempDir } from "../../support/temp-dir.ts";

type Service = { name: string; labels?: Record<string, string> };

/** The kinds that the least of the chart has, by group: helm looks for each. */
const kinds: Record<string, string[]> = {
  v1: ["Service", "ConfigMap", "ServiceAccount"],
  "apps/v1": ["Deployment"],
  "batch/v1": ["Job"],
  "policy/v1": ["PodDisruptionBudget"],
};

const listOf = (groupVersion: string) => ({
  kind: "APIResourceList",
  groupVersion,
  resources: (kinds[groupVersion] ?? []).map((kind) => ({
    name: `${kind.toLowerCase()}s`,
    singularName: kind.toLowerCase(),
    namespaced: true,
    kind,
    verbs: ["get", "list"],
  })),
});

const groups = Object.keys(kinds)
  .filter((group) => group !== "v1")
  .map((groupVersion) => {
    const preferredVersion = { groupVersion, version: "v1" };
    const name = groupVersion.replace("/v1", "");
    return { name, versions: [preferredVersion], preferredVersion };
  });

/** Has these Services in the namespace `vedette`. Returns the path of a kubeconfig; ends with the test. */
export async function startServiceServer(services: readonly Service[]): Promise<string> {
  const items = services.map(({ name, labels }) => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "vedette", ...(labels !== undefined && { labels }) },
  }));
  const answers: Record<string, object> = {
    "/version": { major: "1", minor: "36", gitVersion: "v1.36.0" },
    "/api": { kind: "APIVersions", versions: ["v1"] },
    "/apis": { kind: "APIGroupList", apiVersion: "v1", groups },
    "/api/v1": listOf("v1"),
    ...Object.fromEntries(
      groups.map(({ preferredVersion: { groupVersion } }) => [
        `/apis/${groupVersion}`,
        listOf(groupVersion),
      ]),
    ),
    "/api/v1/namespaces/vedette/services": {
      kind: "ServiceList",
      apiVersion: "v1",
      metadata: {},
      items,
    },
  };
  const server = createServer((request, answer) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const body = answers[pathname];
    answer.writeHead(body === undefined ? 404 : 200, { "content-type": "application/json" });
    answer.end(JSON.stringify(body ?? { kind: "Status", status: "Failure", code: 404 }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const file = path.join(tempDir(), "kubeconfig");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "test",
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    clusters: [{ name: "test", cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: "test", user: {} }],
  };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return file;
}
