/** The exported project before the hosted monitor's own program, and a double of its API. */
import { symlinkSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CheckOf, Definitions } from "#monitor/contract.ts";
import { exportCheckly, hostedFrequencies } from "#monitor/export/checkly.ts";
import { hostedLocations } from "#monitor/hosted/contract.ts";
import { arbitraryDefinitions } from "../../../support/monitor/arbitrary-definitions.ts";
import { aHeartbeat, anApiCheck } from "../../../support/monitor/check-builders.ts";
import { installCheckly, runCheckly } from "../../../support/monitor/checkly.ts";
import { readDefinitions } from "../../../support/monitor/checkly-definitions.ts";
import { writeFiles } from "../../../support/monitor/exported.ts";
import { type Resource, startFakeCheckly } from "../../../support/monitor/fake-checkly.ts";
import { standardDefinitions } from "../../../support/monitor/standard-definitions.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const settings = { baseUrl: "https://api.example.com", secretPrefix: "ACME" };
const defined = standardDefinitions;
const packageJson = exportCheckly(defined, settings).find((file) => file.path === "package.json");
const nodeModules = installCheckly(packageJson?.text ?? "");

let api: Awaited<ReturnType<typeof startFakeCheckly>>;

beforeAll(async () => {
  api = await startFakeCheckly();
});

afterAll(() => api.stop());

function writeProject(definitions: Definitions): string {
  const project = tempDir();
  writeFiles(project, exportCheckly(definitions, settings));
  symlinkSync(nodeModules ?? "", path.join(project, "node_modules"));
  return project;
}

/** What the hosted monitor would get, by logical id. */
async function preview(definitions: Definitions): Promise<Map<string, Resource>> {
  const project = writeProject(definitions);
  const { code, output } = await runCheckly(["deploy", "--preview"], { project, apiUrl: api.url });
  if (code !== 0) throw new Error(output);
  const deployed = api.deploys.splice(0);
  if (deployed.length !== 1) throw new Error(`${deployed.length} deploys: ${output}`);
  return new Map(
    deployed
      .flatMap(({ resources }) => resources)
      .map((resource) => [resource.logicalId, resource]),
  );
}

const channelsOf = (resources: Map<string, Resource>, check: string) =>
  [...resources.values()]
    .filter(
      ({ type, payload }) =>
        type === "alert-channel-subscription" && payload.checkId?.ref === check,
    )
    .map(({ payload }) => payload.alertChannelId?.ref);

describe.skipIf(nodeModules === null)("the exported project", () => {
  it("is valid, and asks the monitor for nothing unknown", async () => {
    const project = writeProject(defined);

    const { code, output } = await runCheckly(["validate"], { project, apiUrl: api.url });

    expect(output).toContain("Your project is valid");
    expect(code).toBe(0);
    expect(api.strays).toEqual([]);
  });

  it("deploys the three checks as they are defined", async () => {
    const resources = await preview(defined);

    expect(resources.get("verify-key")?.payload).toMatchObject({
      checkType: "API",
      frequency: 1,
      locations: hostedLocations,
      degradedResponseTime: 500,
      maxResponseTime: 10_000,
      runParallel: true,
      alertSettings: { runBasedEscalation: { failedRunThreshold: 1 } },
      request: {
        method: "POST",
        url: "https://api.example.com/v2/keys.verifyKey",
        body: '{"key":"{{ACME_KEY}}"}',
      },
    });
    expect(resources.get("rate-limit")?.payload.locations).toEqual(
      standardDefinitions.apiChecks.find(({ id }) => id === "rate-limit")?.locations,
    );
    expect(resources.get("liveness")?.payload.request.method).toBe("GET");
  });

  it("refers to the channels by number and manages none", async () => {
    const resources = await preview(defined);

    const channels = [...resources.values()].filter(({ type }) => type === "alert-channel");
    expect(channels.map(({ physicalId }) => physicalId).sort()).toEqual([218874, 273211]);
    expect(channels.every(({ member }) => !member)).toBe(true);
  });

  it("has each check on its channel, and three heartbeats on none", async () => {
    const resources = await preview(defined);

    const all = [...defined.apiChecks, ...defined.heartbeats];
    const numbers = { production: ["alert-channel-218874"], staging: ["alert-channel-273211"] };
    const wanted = all.map(({ id, channel }) => [id, channel === null ? [] : numbers[channel]]);
    expect(all.map(({ id }) => [id, channelsOf(resources, id)])).toEqual(wanted);
  });

  it("has every heartbeat with its period and grace", async () => {
    const resources = await preview(defined);

    const found = defined.heartbeats.map(({ id }) => resources.get(id)?.payload.heartbeat);
    expect(found).toEqual(
      defined.heartbeats.map(({ periodSeconds, graceSeconds }) => ({
        period: periodSeconds,
        periodUnit: "seconds",
        grace: graceSeconds,
        graceUnit: "seconds",
      })),
    );
  });

  it("has every frequency of the monitor", async () => {
    const apiChecks = hostedFrequencies.map((frequencySeconds) =>
      anApiCheck({ id: `every-${frequencySeconds}`, frequencySeconds, failedAboveMs: 9_000 }),
    );

    const resources = await preview({ ...defined, apiChecks, heartbeats: [] });

    const found = apiChecks.map(({ id }) => {
      const { frequency, frequencyOffset } = resources.get(id)?.payload ?? {};
      return frequency === 0 ? frequencyOffset : frequency * 60;
    });
    expect(found).toEqual(hostedFrequencies);
  });

  it("has every kind of assertion, and names that would break source text", async () => {
    const name = 'A "quoted" name \\ with `ticks` $ */ // and\nlines';
    const apiChecks = [
      anApiCheck({
        name,
        assertions: [
          { source: "status", equals: 201 },
          { source: "header", name: "x-cache", contains: 'H"IT' },
          { source: "json", path: "data.roles.0.a-b", equals: "admin" },
          { source: "json", path: "data.gone", equals: null },
        ],
      }),
    ];
    const heartbeats = [aHeartbeat({ name, watches: name })];

    const resources = await preview({ ...defined, apiChecks, heartbeats });

    expect(resources.get("verify-key")?.payload.name).toBe(name);
    expect(resources.get("verify-key")?.payload.request.assertions).toMatchObject([
      { source: "STATUS_CODE", comparison: "EQUALS", target: "201" },
      { source: "HEADERS", property: "x-cache", comparison: "CONTAINS", target: 'H"IT' },
      {
        source: "JSON_BODY",
        property: '$.data.roles[0]["a-b"]',
        comparison: "EQUALS",
        target: "admin",
      },
      { source: "JSON_BODY", property: "$.data.gone", comparison: "IS_NULL" },
    ]);
  });

  it("has whatever else is defined, so that the definitions can be read off it", async () => {
    // A project without any check is not deployed at all.
    const someDefinitions = arbitraryDefinitions.filter(
      ({ apiChecks, heartbeats }) => apiChecks.length + heartbeats.length > 0,
    );
    const asDefined = fc.asyncProperty(someDefinitions, async (definitions) => {
      const resources = await preview(definitions);

      const found = readDefinitions(resources, settings);
      const { apiChecks, heartbeats } = definitions;
      expect(found.apiChecks).toEqual(apiChecks.toSorted(byId).map(asHosted));
      expect(found.heartbeats).toEqual(
        heartbeats.toSorted(byId).map(({ watches, ...heartbeat }) => heartbeat),
      );
    });

    await fc.assert(asDefined, { numRuns: 8 });
  });
});

const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);

/** The content type is ours to add; the hosted monitor compares as text. */
function asHosted(check: CheckOf<"http">) {
  const json = check.body === null ? {} : { "content-type": "application/json" };
  const assertions = check.assertions.map((assertion) =>
    "equals" in assertion ? { ...assertion, equals: String(assertion.equals) } : assertion,
  );
  return { ...check, headers: { ...json, ...check.headers }, assertions };
}
