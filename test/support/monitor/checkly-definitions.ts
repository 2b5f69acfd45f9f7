/** Reads definitions off what the hosted monitor is told to deploy. */
import type { Resource } from "./fake-checkly.ts";

type Settings = { baseUrl: string; secretPrefix: string };

/** By id; what is compared at the hosted monitor is text. */
export function readDefinitions(resources: Map<string, Resource>, settings: Settings) {
  const all = [...resources.values()].sort((a, b) => (a.logicalId < b.logicalId ? -1 : 1));
  const checks = all.filter(({ type }) => type === "check");
  const isHeartbeat = ({ payload }: Resource) => payload.checkType === "HEARTBEAT";
  const common = (resource: Resource) => ({
    id: resource.logicalId,
    name: resource.payload.name,
    environment: resource.payload.tags[0],
    channel: readChannel(resource, all),
  });
  return {
    apiChecks: checks
      .filter((check) => !isHeartbeat(check))
      .map((check) => ({ ...common(check), ...readApiCheck(check, settings) })),
    heartbeats: checks.filter(isHeartbeat).map((check) => ({
      ...common(check),
      periodSeconds: check.payload.heartbeat.period,
      graceSeconds: check.payload.heartbeat.grace,
    })),
  };
}

const channelNames: Record<string, string> = {
  "alert-channel-218874": "production",
  "alert-channel-273211": "staging",
};

function readChannel({ logicalId }: Resource, all: Resource[]): string | null {
  const found = all.find(
    ({ type, payload }) =>
      type === "alert-channel-subscription" && payload.checkId?.ref === logicalId,
  );
  return channelNames[found?.payload.alertChannelId?.ref] ?? null;
}

function readApiCheck({ payload }: Resource, { baseUrl, secretPrefix }: Settings) {
  const { request } = payload;
  const unnamed = (text: string) => text.replaceAll(`{{${secretPrefix}_`, "{{");
  const pairs = request.headers as { key: string; value: string }[];
  return {
    method: request.method,
    path: request.url.slice(baseUrl.length),
    headers: Object.fromEntries(pairs.map(({ key, value }) => [key, unnamed(value)])),
    body: request.body ? JSON.parse(unnamed(request.body)) : null,
    assertions: request.assertions.map(readAssertion),
    locations: payload.locations,
    frequencySeconds: payload.frequency === 0 ? payload.frequencyOffset : payload.frequency * 60,
    degradedAboveMs: payload.degradedResponseTime,
    failedAboveMs: payload.maxResponseTime,
    kind: "http" as const,
    failedRunThreshold: payload.alertSettings.runBasedEscalation.failedRunThreshold,
  };
}

type HostedAssertion = { source: string; property: string; comparison: string; target: string };

function readAssertion({ source, property, comparison, target }: HostedAssertion) {
  if (source === "STATUS_CODE") return { source: "status", equals: target };
  if (source === "HEADERS") return { source: "header", name: property, contains: target };
  const path = property.replace(/^\$\./, "").replace(/\["([^"]+)"\]/g, ".$1");
  return { source: "json", path, equals: comparison === "IS_NULL" ? "null" : target };
}
