/** Wires a runner at a further location: it has no server and no database, only checks and a client of control. */
import { Gauge, type Registry } from "prom-client";
import type { Config } from "#config.ts";
import type { Log } from "#kernel/log.ts";
import { createReach, type OwnService, seenFromElsewhere, serviceAt } from "#kernel/reach.ts";
import { createReadSecret, findFaultyHosts } from "#kernel/secrets.ts";
import { readWitness } from "#monitor/config.ts";
import type { RunnableCheck } from "#monitor/contract.ts";
import { createRunnerClient, type Runner, startRunner } from "#monitor/locations/runner.ts";
import { createProbe } from "#monitor/probe/probe.ts";
import { createRunCheck } from "#monitor/probe/run-check.ts";
import { missingSettings } from "#monitor/probe/secrets.ts";
import { createWitness, type Witness } from "#monitor/probe/witness.ts";
import { closedBy, openAt, unlessShared } from "./own-services.ts";

/** `registry`: of the metrics; absent: the process has none. */
export function createLocationWitness(
  { witness }: Pick<Config["monitor"], "witness">,
  log: Log,
  registry?: Registry,
): Witness {
  const gauge =
    registry &&
    new Gauge({
      name: "vedette_monitor_network_lost",
      help: "1 while none of the witnesses answers: runs here that reach nothing do not count.",
      registers: [registry],
    });
  return createWitness({
    addresses: witness.flatMap((address) => readWitness(address) ?? []),
    onChange(isLost) {
      gauge?.set(isLost ? 1 : 0);
      if (isLost) log.warn("no witness answers: runs here that reach nothing do not count");
      else log.info("the network of this location is back");
    },
    nowMs: Date.now,
  });
}

type RunnerSettings = { control: string; token: string; location: string; log: Log };

/** Throws when control cannot be reached, refuses the token, or knows it as that of another location. */
export async function startMonitorRunner(
  { monitor, definitions }: Config,
  { control, token, location, log }: RunnerSettings,
): Promise<Runner> {
  const faults = findFaultyHosts(definitions.secrets_dir);
  if (faults.length > 0) throw new Error(faults.join("\n"));
  const given = { KEY: monitor.key, ROOT_KEY: monitor.root_key };
  const readSecret = createReadSecret(given, definitions.secrets_dir);
  const client = createRunnerClient({ control, token });
  const probe = createProbe();
  // Replaced by those of each work.
  const services: OwnService[] = [];
  let named: string[] = [];
  const reach = createReach({ services, closed: closedBy(monitor), named: () => named });
  const witness = createLocationWitness(monitor, log);
  let leftOut = 0;
  /** Logs only when the number changes. */
  const logLeftOut = (off: readonly RunnableCheck[]) => {
    if (off.length > 0 && off.length !== leftOut) {
      const names = off.flatMap((check) => missingSettings(check, readSecret));
      const missing = [...new Set(names)].slice(0, 20);
      log.warn({ count: off.length, missing }, "checks are left out: settings are missing here");
    }
    leftOut = off.length;
  };
  let unknownBefore = "";
  /** Logs only when they change. */
  const logUnknown = (kinds: readonly string[]) => {
    if (kinds.length > 0 && kinds.join() !== unknownBefore) {
      log.warn({ kinds }, "checks of kinds that this version does not know are left out");
    }
    unknownBefore = kinds.join();
  };
  const fetchWork = async () => {
    const { work, unknownKinds } = await client.fetchWork();
    logUnknown(unknownKinds);
    if (work.location !== location) {
      throw new Error(`the token is that of ${work.location} and not of ${location}`);
    }
    const baseUrl = monitor.base_url || work.base_url;
    named = openAt(baseUrl);
    services.splice(
      0,
      services.length,
      ...seenFromElsewhere(work.services, URL.parse(control)?.hostname),
      ...serviceAt("control", unlessShared(control)),
    );
    const byRunning = Map.groupBy(
      work.checks,
      (check) => missingSettings(check, readSecret).length === 0,
    );
    const checks = byRunning.get(true) ?? [];
    logLeftOut(byRunning.get(false) ?? []);
    return { ...work, base_url: baseUrl, checks };
  };
  return startRunner({
    fetchWork,
    report: client.report,
    run: async (check, { scheduledAtMs, work: { base_url: baseUrl } }) => {
      const target = { baseUrl, readSecret };
      const runCheck = createRunCheck({ probe, reach, target, location, nowMs: Date.now });
      return witness.judge(await runCheck(check, scheduledAtMs), { check, baseUrl });
    },
    log,
    // Monotonic, so that the measured offset to the gateway's clock remains valid when our clock is set.
    nowMs: () => performance.timeOrigin + performance.now(),
  });
}
