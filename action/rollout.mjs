/**
 * The step of the GitHub Action: starts a rollout and follows it. It has no dependencies and runs on
 * the Node that runners have (20 and newer). Exit codes: 0 completed, 2 paused, 3 cancelled, 1 error.
 */
import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

const { env } = process;
const base = `${need("VEDETTE_CONTROL_URL").replace(/\/+$/, "")}/vedette.v1.SentinelRolloutService/singleton`;
const token = need("INGRESS_TOKEN");
const pollEveryMs = Number(env.VEDETTE_POLL_MS ?? 3_000);

/** How long Vedette may be out of reach while a rollout is followed. */
const awayForMs = 10 * 60_000;

const exitCodes = { completed: 0, paused: 2, cancelled: 3 };

function need(name) {
  const value = env[name];
  if (value) return value;
  fail(`${name} is not set`);
}

function fail(message) {
  process.stdout.write(`::error::${message.replaceAll("\n", "%0A")}\n`);
  process.exit(1);
}

/** Calls a handler until there is an answer; under one key, so that a repetition starts nothing twice. */
async function call(handler, body = {}) {
  const key = randomUUID();
  const giveUpAt = Date.now() + awayForMs;
  for (;;) {
    try {
      const answer = await fetch(`${base}/${handler}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          "idempotency-key": key,
        },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(30_000),
      });
      const parsed = await answer.json();
      if (answer.ok) return parsed;
      if (answer.status < 500) fail(parsed.detail ?? `Vedette answered ${answer.status}`);
    } catch (error) {
      if (Date.now() > giveUpAt) fail(`Vedette cannot be reached: ${error.message}`);
      process.stdout.write("connection lost, trying again\n");
    }
    await delay(Math.min(pollEveryMs, 3_000));
  }
}

const isStill = ({ state }) => state !== "in_progress" && state !== "rolling_back";

/** The rollout that this step has begun; what another one has left behind is not it. */
async function begin(request) {
  const before = await call("Status");
  if (!isStill(before) || before.state === "paused") {
    fail(`a rollout of ${before.image} is ${before.state}; end it first`);
  }
  await call("Rollout/send", request);
  for (let tries = 0; tries < 100; tries++) {
    const status = await call("Status");
    if (status.rollout_id !== before.rollout_id) return status;
    await delay(Math.min(pollEveryMs, 1_000));
  }
  return fail(
    "the rollout did not begin; Vedette's log has the reason, for example a missing image",
  );
}

async function follow(first) {
  let status = first;
  let last = "";
  for (;;) {
    const { current_wave, total_waves, succeeded, total, failed } = status;
    const line = `${status.state}: wave ${current_wave}/${total_waves}, ${succeeded} of ${total} sentinels ready, ${failed} failed`;
    if (line !== last) process.stdout.write(`${line}\n`);
    last = line;
    if (isStill(status)) return status;
    await delay(pollEveryMs);
    status = await call("Status");
  }
}

async function afterFailure(status) {
  const wanted = env.VEDETTE_ON_FAILURE || "none";
  if (status.state !== "paused" || wanted === "none") return status;
  if (wanted === "cancel") return call("Cancel");
  if (wanted !== "rollback") fail(`on-failure is none, rollback or cancel, not ${wanted}`);
  await call("RollbackAll/send");
  await delay(pollEveryMs);
  return follow(await call("Status"));
}

function report(status) {
  const outputs = {
    state: status.state,
    "rollout-id": status.rollout_id,
    succeeded: status.succeeded,
    failed: status.failed,
  };
  const lines = Object.entries(outputs).map(([name, value]) => `${name}=${value}\n`);
  if (env.GITHUB_OUTPUT) appendFileSync(env.GITHUB_OUTPUT, lines.join(""));
  if (!env.GITHUB_STEP_SUMMARY) return;
  const failures = status.failed_sentinels.map(({ id, reason }) => `| ${id} | ${reason} |\n`);
  const table =
    failures.length > 0 ? `\n| sentinel | reason |\n|---|---|\n${failures.join("")}` : "";
  const summary = `### Rollout ${status.state}\n\n\`${status.image}\`: ${status.succeeded} of ${status.total} sentinels, ${status.failed} failed.\n${table}`;
  appendFileSync(env.GITHUB_STEP_SUMMARY, summary);
}

process.stdout.write(`::add-mask::${token}\n`);
const waves = env.VEDETTE_WAVES
  ? { wave_percentages: env.VEDETTE_WAVES.split(",").map(Number) }
  : {};
const begun = await begin({ image: need("VEDETTE_IMAGE"), ...waves });
if (env.VEDETTE_WAIT === "false") {
  report(begun);
} else {
  const ended = await follow(begun);
  process.exitCode = exitCodes[ended.state] ?? 1;
  report(await afterFailure(ended));
}
