/** Wires the version watch, which releases invocations that another version started. */
import { alertEvents, notices } from "#alerts/contract.ts";
import { cronObject, cronRuns } from "#cron/internal.ts";
import { definitionsObject } from "#definitions/internal.ts";
import { fleetService } from "#fleet/contract.ts";
import { callRestate } from "#kernel/ingress.ts";
import { type Duties, dutiesOf } from "#kernel/restate.ts";
import { traceService } from "#kernel/trace-service.ts";
import { drillObject } from "#monitor/drills/internal.ts";
import {
  apiCheckObject,
  heartbeatObject,
  jobHeartbeats,
  runnerRegistry,
} from "#monitor/internal.ts";
import { checkReads } from "#monitor/results/contract.ts";
import { rolloutReconciler } from "#rollout/desired/reconciler.ts";
import { rolloutRelease } from "#rollout/internal.ts";
import { isResent, releasedServices as rolloutServices } from "#rollout/services/release.ts";
import { alertRoutesObject, alertRoutesRuns } from "#routing/incident/internal.ts";
import { statusReads } from "#status/contract.ts";
import { engineService } from "#worker/contract.ts";
import { readRelease, releaseService } from "#worker/release.ts";
import { createRestateAdmin } from "#worker/restate-admin.ts";
import { watchVersions } from "#worker/version-watch.ts";
import type { WedgedInvocation, WedgedReader } from "#worker/wedged.ts";
import type { Base } from "./base.ts";

/** Duties for invocations that another version of the program began, and the services that are watched for them. */
const again = { isCalledAgain: true } as const;

/** Operators' calls are not replaced: the caller gets an error and can repeat the call. */
const duties: Duties = {
  ...dutiesOf(drillObject, {
    start: again,
    tick: again,
    sendOut: again,
    judge: again,
    noted: again,
  }),
  ...dutiesOf(jobHeartbeats, { succeeded: again }),
  ...dutiesOf(notices, { post: again }),
  ...dutiesOf(traceService, { deliver: again }),
  // An apply is only ended, and reported as stopped; the next one knows what it was about to create.
  ...dutiesOf(alertRoutesObject, {
    note: again,
    keep: again,
    checked: again,
    finished: { ...again, restoredBy: "start" },
    start: { restoredBy: "start" },
  }),
  ...dutiesOf(alertRoutesRuns, { apply: {}, check: {} }),
  // A run is repeated now, because the next tick may be a day away.
  ...dutiesOf(cronObject, { start: again, tick: again, finished: again }),
  ...dutiesOf(cronRuns, { run: again }),
  ...dutiesOf(definitionsObject, {
    // The caller gets an error and may repeat it; what it wrote is told to the checks.
    Apply: { restoredBy: "finish" },
    start: { restoredBy: "finish" },
    finish: again,
  }),
};

/** All services except those of rollouts, which are released separately. */
const otherServices: readonly string[] = [
  apiCheckObject,
  heartbeatObject,
  drillObject,
  jobHeartbeats,
  runnerRegistry,
  notices,
  alertEvents,
  alertRoutesObject,
  alertRoutesRuns,
  cronObject,
  cronRuns,
  definitionsObject,
  checkReads,
  statusReads,
  fleetService,
  // The timed job calls it again a minute later.
  rolloutReconciler,
  releaseService,
  engineService,
  traceService,
].map(({ name }) => name);

export const watchedServices: readonly string[] = [...rolloutServices, ...otherServices];

type VersionParts = {
  adminUrl: string;
  ingressUrl: string;
  revision: string;
  takeBack: () => Promise<unknown>;
};

/** Most wedged invocations that one poll releases; the next poll finds the others. */
const mostAtOnce = 500;

export function startVersionWatch(
  { log }: Base,
  parts: VersionParts,
): { stop: () => Promise<void> } {
  const { adminUrl, revision, takeBack } = parts;
  return watchVersions({
    takeBack,
    admin: createRestateAdmin(adminUrl),
    revision,
    services: watchedServices,
    log,
    release: async (wedged, reader) => {
      const isOfRollout = ({ service }: WedgedInvocation) => rolloutServices.includes(service);
      const found = { reader, parts };
      const others = wedged.filter((call) => !isOfRollout(call)).slice(0, mostAtOnce);
      await Promise.all([
        releaseRollout(wedged.filter(isOfRollout), found),
        releaseOthers(others, found),
      ]);
    },
  });
}

type ReleaseSource = { reader: WedgedReader; parts: VersionParts };

async function releaseRollout(
  wedged: WedgedInvocation[],
  { reader, parts }: ReleaseSource,
): Promise<void> {
  if (wedged.length === 0) return;
  const again = wedged.filter(isResent).map(({ id }) => id);
  const { inputs } = await reader.journals(again);
  const calls = wedged.map((call) => withInput(call, inputs.get(call.id)));
  const at = { ingressUrl: parts.ingressUrl, path: `/${rolloutRelease.name}/release` };
  await callRestate(at, { revision: parts.revision, wedged: calls });
}

async function releaseOthers(
  wedged: WedgedInvocation[],
  { reader, parts }: ReleaseSource,
): Promise<void> {
  if (wedged.length === 0) return;
  const order = await readRelease(wedged, { reader, duties });
  const at = { ingressUrl: parts.ingressUrl, path: `/${releaseService.name}/release` };
  await callRestate(at, order);
}

function withInput(call: WedgedInvocation, payload: Buffer | undefined) {
  const { id, service, key, handler, parent, revision } = call;
  const input = payload === undefined ? {} : { input: JSON.parse(payload.toString()) };
  return { id, service, key, handler, parent, revision, ...input };
}
