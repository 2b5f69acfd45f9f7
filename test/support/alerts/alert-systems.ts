/** Two systems that alert when a check fails and when it recovers, under one way of driving them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { makeToken } from "#cli/token.ts";
import { type CheckList, checkReads } from "#monitor/results/contract.ts";
import { freePort } from "../free-port.ts";
import { type Part, startProgram } from "../program/program.ts";
import { makeTempDir } from "../temp-dir.ts";
import { waitFor } from "../wait-for.ts";
import type { AlertReceiver } from "./alert-receiver.ts";

export type CheckState = "failed" | "ok";

export type AlertSystem = {
  checkId: string;
  /** Says so until the system has taken it, however long it is away. Episodes count from 1. */
  report: (state: CheckState, episode: number) => Promise<void>;
  /** Answers when the system itself shows the check so: what changes before that is one change to it. */
  untilShown: (state: CheckState) => Promise<void>;
  /** Ends all of it as a power failure would. */
  kill9: () => void;
  restart: () => Promise<void>;
  stop: () => Promise<void>;
};

/** The parts of the whole program; its own process first, since it would start the others again. */
const parts: readonly Part[] = ["main", "restate", "postgres"];

/** A whole Vedette and one of its heartbeats: a job that says how it ended. */
export async function startVedetteAlerts(receiver: AlertReceiver): Promise<AlertSystem> {
  const checkId = "certificate-workflow";
  const program = await startProgram({
    VEDETTE_INCIDENT__URL: receiver.url,
    VEDETTE_ALERTS__PRODUCTION__SOURCE_ID: receiver.sourceId,
    VEDETTE_ALERTS__PRODUCTION__TOKEN: receiver.token,
    VEDETTE_ALERTS__ATTEMPT_TIMEOUT_SECONDS: "1",
  });
  const { token, hash } = makeToken();
  const call = (path: string, body: object) =>
    post(`${program.endpoints().control}/${path}`, {
      headers: { authorization: `Bearer ${program.token()}` },
      body,
    });
  await call(`vedette.v1.Heartbeat/${checkId}/Register`, { token_hash: hash });
  return {
    checkId,
    report: async (state) => {
      const suffix = state === "failed" ? "/fail" : "";
      await untilTaken(() => post(`${program.endpoints().control}/${token}${suffix}`));
    },
    untilShown: async (state) => {
      const isShown = async () => {
        const { checks } = JSON.parse(await call(`${checkReads.name}/List`, {})) as CheckList;
        return checks.some(({ id, status }) => id === checkId && status === state);
      };
      await waitFor(isShown, { withinMs: 60_000, what: `${state} to be shown` });
    },
    kill9: () => {
      for (const part of parts) program.kill9(part);
    },
    restart: program.start,
    stop: program.dispose,
  };
}

const alertmanager = "/usr/bin/prometheus-alertmanager";

export function hasAlertmanager(): boolean {
  return existsSync(alertmanager);
}

/** How often Prometheus would say how its alerts stand: here far more often than its minute. */
const resendEveryMs = 500;

/** Alertmanager, told again and again how the check stands, as by Prometheus. */
export async function startAlertmanager(receiver: AlertReceiver): Promise<AlertSystem> {
  const checkId = "certificate-workflow";
  const dir = makeTempDir();
  const config = path.join(dir.path, "alertmanager.yml");
  writeFileSync(config, configFor(receiver));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;
  const restart = async () => {
    const flags = ["--cluster.listen-address=", `--web.listen-address=127.0.0.1:${port}`];
    const files = [`--config.file=${config}`, `--storage.path=${path.join(dir.path, "data")}`];
    child = spawn(alertmanager, [...flags, ...files], { stdio: "ignore" });
    await waitFor(async () => (await fetch(`${url}/-/ready`)).ok, {
      withinMs: 20_000,
      what: "Alertmanager to be ready",
    });
  };
  await restart();
  let alert: object | undefined;
  let startsAt = "";
  const tell = async () => {
    if (alert !== undefined) await post(`${url}/api/v2/alerts`, { body: [alert] });
  };
  const resending = setInterval(() => tell().catch(() => {}), resendEveryMs);
  return {
    checkId,
    report: async (state, episode) => {
      const now = new Date().toISOString();
      if (state === "failed") startsAt = now;
      const kind = state === "failed" ? "opened" : "resolved";
      alert = {
        labels: { alertname: checkId, severity: "critical" },
        annotations: { event_id: `${checkId}:${episode}:${kind}` },
        startsAt,
        ...(state === "ok" && { endsAt: now }),
      };
      await untilTaken(tell);
    },
    // It shows an alert at once; longer than its shortest interval between messages, so that it can tell.
    untilShown: () => delay(1_500),
    kill9: () => void child?.kill("SIGKILL"),
    restart,
    stop: async () => {
      clearInterval(resending);
      if (child?.exitCode === null && child.signalCode === null) {
        child.kill("SIGKILL");
        await once(child, "exit");
      }
      dir.remove();
    },
  };
}

/** As quick as it can be, one message per alert. */
function configFor(receiver: AlertReceiver): string {
  const url = `${receiver.url}/v2/alert_events/alertmanager/${receiver.sourceId}`;
  const authorization = { type: "Bearer", credentials: receiver.token };
  const webhook = { url, send_resolved: true, http_config: { authorization } };
  const times = { group_wait: "0s", group_interval: "1s", repeat_interval: "4h" };
  // YAML reads JSON.
  return JSON.stringify({
    route: { receiver: "service", group_by: ["..."], ...times },
    receivers: [{ name: "service", webhook_configs: [webhook] }],
  });
}

async function untilTaken(tell: () => Promise<unknown>): Promise<void> {
  await waitFor(async () => tell().then(() => true), { withinMs: 60_000, what: "a report taken" });
}

type Post = { headers?: Record<string, string>; body?: unknown };

async function post(url: string, { headers = {}, body }: Post = {}): Promise<string> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { ...headers, ...(body !== undefined && { "content-type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(5_000),
  });
  const text = await answer.text();
  if (answer.ok) return text;
  // Not at once: who is away is not asked fifty times a second.
  await delay(100);
  throw new Error(`answered ${answer.status}`);
}
