/**
 * The step of the GitHub Action: starts a rollout and follows it to its end. It has no dependencies
 * and runs on the Node that runners have (20 and newer). Settings come by the environment alone.
 * Exit codes: 0 completed, 2 paused, 3 cancelled, 1 anything else.
 */
import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";

const { env } = process;
const exitCodes = { completed: 0, paused: 2, cancelled: 3 };
const reactions = ["none", "rollback", "cancel"];
const counts = ["current_wave", "total_waves", "succeeded", "total", "failed"];
const defaultFleet = "singleton";

/** How long Vedette may be unreachable: at the start, and while a rollout is followed. */
const patienceMs = { toBegin: 30_000, toFollow: 10 * 60_000 };
const statusTimeoutMs = 40_000;
/** Of one answer; the longest lists every sentinel of a fleet. */
const largestAnswer = 64 * 1024 * 1024;
/** A blocking call is repeated with the same key after this, because proxies close idle connections. */
const attemptTimeoutMs = 240_000;

/** An error for the operator, reported without a stack. */
class StepError extends Error {}

/** The call was refused or has failed for good: `status` is that of the answer. */
class AnswerError extends StepError {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** The last status of our rollout, for a step that ends early. `isAsked`: perhaps there is one without a status. */
const latest = { status: undefined, isAsked: false };

function readSettings() {
  const isTrue = (name, value) => oneOf(name, value, ["true", "false"]) === "true";
  const url = readUrl(required("control-url", env.VEDETTE_CONTROL_URL));
  return {
    url,
    audience: env.VEDETTE_AUDIENCE?.trim() || url,
    token: env.INGRESS_TOKEN?.trim() || readJob(),
    fleet: readFleet(env.VEDETTE_FLEET || defaultFleet),
    request: readRequest(),
    waits: isTrue("wait", env.VEDETTE_WAIT || "true"),
    includesFailed: isTrue("include-failed", env.VEDETTE_INCLUDE_FAILED || "false"),
    onFailure: oneOf("on-failure", env.VEDETTE_ON_FAILURE || "none", reactions),
    pollMs: Number(env.VEDETTE_POLL_MS || 3_000),
  };
}

/** Where the runner hands out tokens of this job, which need no secret. */
function readJob() {
  const { ACTIONS_ID_TOKEN_REQUEST_URL: url, ACTIONS_ID_TOKEN_REQUEST_TOKEN: token } = env;
  if (URL.canParse(url ?? "") && token) return { url, token };
  throw new StepError(
    "the job gets no token of its own: give it `permissions: id-token: write` (runs for forks get none), or the input ingress-token",
  );
}

function required(input, value) {
  if (value?.trim()) return value.trim();
  throw new StepError(`the input ${input} is empty (runs for forks get no secrets)`);
}

/** A field that both `options` and an input say would be dropped without a word. */
function readRequest() {
  const options = readOptions(env.VEDETTE_OPTIONS);
  const image = required("image", env.VEDETTE_IMAGE);
  const inputs = { image, ...readWaves(env.VEDETTE_WAVES), ...readGate(env), ...readGates(env) };
  const [twice] = Object.keys(inputs).filter((field) => Object.hasOwn(options, field));
  if (twice === undefined) return { ...options, ...inputs };
  throw new StepError(`options has ${twice}, which an input of this step says: leave it out there`);
}

function readFleet(name) {
  if (/^[a-z][a-z0-9_-]{0,39}$/.test(name)) return name;
  throw new StepError("fleet is the name of a fleet of the settings, for example production");
}

/** The token goes there with each call, and redirects are not followed. */
function readUrl(text) {
  const example = "control-url is an address such as https://vedette.example.com";
  if (!/^https?:/.test(text) || !URL.canParse(text)) throw new StepError(example);
  const { protocol, hostname, username, password, search, hash, href } = new URL(text);
  const isLoopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname);
  if (protocol !== "https:" && !isLoopback) {
    throw new StepError(`${example}: over http the token could be read on its way`);
  }
  // Not as it was given: a line break in it, which no address has, would begin a command in the log.
  if (username + password + search + hash === "") return href.replace(/\/+$/, "");
  throw new StepError(`${example}: without a user, a query and a fragment`);
}

function oneOf(name, value, allowed) {
  if (allowed.includes(value)) return value;
  throw new StepError(`${name} is ${allowed.join(" or ")}, not "${value}"`);
}

function readWaves(text) {
  if (!text) return {};
  const percentages = text.split(",").map((part) => Number(part.trim() || Number.NaN));
  if (percentages.every(Number.isInteger)) return { wave_percentages: percentages };
  throw new StepError(`wave-percentages is a list such as 5,25,100, not "${text}"`);
}

function readGate({ VEDETTE_GATE_CHECKS: ids, VEDETTE_GATE_TIMEOUT_SECONDS: limit, ...of }) {
  const counts = {
    ...readCount("clean_runs", "gate-clean-runs", of.VEDETTE_GATE_CLEAN_RUNS),
    ...readCount("timeout_seconds", "gate-timeout-seconds", secondsOf(limit)),
  };
  if (ids) return { gate: { checks: ids.split(",").map((id) => id.trim()), ...counts } };
  if (Object.keys(counts).length === 0) return {};
  throw new StepError("gate-clean-runs and gate-timeout-seconds need gate-checks");
}

function readGates({ VEDETTE_GATES: text }) {
  const gates = text ? parseObject(text) : [];
  if (!Array.isArray(gates)) {
    throw new StepError(`gates is a JSON list such as ["errors", {"kind": "pause"}], not ${text}`);
  }
  return text ? { gates } : {};
}

function readOptions(text) {
  const options = text ? parseObject(text) : {};
  if (options !== undefined && !Array.isArray(options)) return options;
  throw new StepError(`options is a JSON object such as {"soak_seconds": 600}, not ${text}`);
}

function readCount(field, input, text) {
  if (!text) return {};
  if (/^[1-9]\d*$/.test(text.trim())) return { [field]: Number(text) };
  throw new StepError(`${input} is a whole number such as 3, not "${text}"`);
}

/** `10m` as seconds; anything else as it is. */
const secondsOf = (text = "") =>
  text.replace(/^(\d+)([smh])$/, (_, count, unit) => count * { s: 1, m: 60, h: 3_600 }[unit]);

/** Hides a secret in the log of a runner; anywhere else this would print it. */
function mask(secret) {
  if (env.GITHUB_ACTIONS === "true" && secret) say(`::add-mask::${escapeCommand(secret)}`);
}

const say = (line) => process.stdout.write(`${line}\n`);
/** GitHub's runner reads commands from the log line by line: text from outside must not become one. */
const escapeCommand = (text) =>
  text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");

/** For steps that put outputs into a command: these have no sign that a shell acts on. */
const asOutput = (value) => String(value).replace(/[^\w.,:/@+=-]+/g, " ");

/** A word of an answer, without characters that could make its line a command. */
const inLine = (text) => String(text).replace(/\W+/g, " ").trim();

const sayError = (message) => say(`::error::${escapeCommand(message)}`);

/** One attempt: the answer's body; undefined when there was none and a retry makes sense. */
async function attempt(step, { handler, body, key, signal }) {
  const { url, fleet } = step;
  const token = await tokenOf(step);
  if (token === undefined) return undefined;
  let answer;
  let text;
  try {
    answer = await fetch(`${url}/vedette.v1.SentinelRolloutService/${fleet}/${handler}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        "idempotency-key": key,
        ...traceHeaders(process.env),
      },
      body: JSON.stringify(body),
      redirect: "manual",
      signal,
    });
    text = await readText(answer);
  } catch {
    return undefined;
  }
  const parsed = text === undefined ? undefined : parseObject(text);
  // A refusal by the rollout itself is stored under this key: a retry would get the same answer.
  const isFinal = parsed?.code === "registry_unavailable";
  if (!isFinal && [408, 429, 502, 503, 504].includes(answer.status)) return undefined;
  if (answer.ok && parsed !== undefined) return parsed;
  if (answer.ok) throw new StepError(`${url} does not answer as Vedette's control does`);
  if (answer.status === 401 && session?.token === token) {
    // It has ended there: the clocks differ, or its row has changed.
    session = undefined;
    return undefined;
  }
  const refused = `the token was refused (from the input ingress-token) by ${url}`;
  if (answer.status === 401) throw new AnswerError(refused, 401);
  const foreign = `${url} answered ${answer.status}, and not as Vedette's control does: is it the address of control, and not of the API?`;
  const detail = parsed?.detail?.replace?.(/^body: /, "options: ");
  throw new AnswerError(detail ?? foreign, answer.status);
}

/** The session for which the job's token was exchanged, and the exchange that is under way. */
let session;
let exchange;

/** Undefined when there was no answer, and a retry makes sense. */
async function tokenOf(step) {
  if (typeof step.token === "string") return step.token;
  if (session !== undefined && Date.now() < session.renewAt) return session.token;
  exchange ??= openSession(step).finally(() => {
    exchange = undefined;
  });
  session = await exchange;
  return session?.token;
}

/** The trace of the pipeline, if an earlier step has set it. */
function traceHeaders({ TRACEPARENT: traceparent = "", TRACESTATE: tracestate = "" }) {
  if (!/^00-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/.test(traceparent)) return {};
  // Control checks the entries.
  return /^[ -~]{1,512}$/.test(tracestate) ? { traceparent, tracestate } : { traceparent };
}

/** Gets a token of this job from the runner, a new one each time, and exchanges it: it counts once. */
async function openSession({ url, token: job, audience }) {
  const address = new URL(job.url);
  address.searchParams.set("audience", audience);
  const issued = await fetchJson(address, { token: job.token });
  const jwt = issued?.body?.value;
  if (issued === undefined || issued.status >= 500) return undefined;
  if (typeof jwt !== "string") throw new StepError(`the runner gave no token (${issued.status})`);
  mask(jwt);
  const answer = await fetchJson(`${url}/ci/session`, { token: jwt, method: "POST" });
  if (answer === undefined || [429, 502, 503, 504].includes(answer.status)) return undefined;
  const { token, ends_at: end, code, detail } = answer.body ?? {};
  if (answer.status === 200 && typeof token === "string") {
    mask(token);
    const lastsMs = Date.parse(end) - Date.now();
    return { token, renewAt: Date.now() + Math.max(lastsMs - 30_000, lastsMs / 2, 1_000) };
  }
  const why = detail ?? `it answered ${answer.status}, and not as Vedette's control does`;
  // The issuer's new key: it is found within seconds.
  if (code === "unknown_key") return undefined;
  const name = code === undefined ? "" : ` (${inLine(code)})`;
  throw new AnswerError(`${url} does not take the job's token${name}: ${why}`, answer.status);
}

async function fetchJson(address, { token, method = "GET" }) {
  try {
    const answer = await fetch(address, {
      method,
      headers: { authorization: `Bearer ${token}`, accept: "application/json" },
      redirect: "manual",
      signal: AbortSignal.timeout(statusTimeoutMs),
    });
    const text = await readText(answer);
    return { status: answer.status, body: text === undefined ? undefined : parseObject(text) };
  } catch {
    return undefined;
  }
}

/** Undefined when the body is larger than any answer of Vedette. */
async function readText(answer) {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length;
    if (bytes > largestAnswer) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function parseObject(text) {
  try {
    const parsed = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** A call that is answered at once; retried until it is. */
async function call(step, handler, limitMs, body = {}) {
  const key = randomUUID();
  const giveUpAt = Date.now() + limitMs;
  for (let tries = 0; ; tries += 1) {
    const signal = AbortSignal.timeout(statusTimeoutMs);
    const answer = await attempt(step, { handler, body, key, signal });
    if (answer !== undefined) return answer;
    if (Date.now() > giveUpAt) throw new StepError(`${step.url} cannot be reached${restOf(step)}`);
    if (tries === 0) say(`Vedette does not answer, trying again for ${limitMs / 1_000} seconds`);
    await delay(step.pollMs);
  }
}

/** A call that is answered when the rollout ends or pauses; repeated when its connection breaks. */
async function callToEnd(step, { handler, body }, over) {
  const key = randomUUID();
  if (handler === undefined) return new Promise(() => {});
  while (!over.aborted) {
    const signal = AbortSignal.any([over, AbortSignal.timeout(attemptTimeoutMs)]);
    const answer = await attempt(step, { handler, body, key, signal });
    if (answer !== undefined) return answer;
    await delay(step.pollMs);
  }
}

const isStill = ({ state }) => state !== "in_progress" && state !== "rolling_back";

/** One that was rolled back is in the state `cancelled`, too. */
const nameOf = ({ state, outcome }) => (outcome === "rolled_back" ? outcome : state);

/** A command for whoever reads the log, at another machine; `restOf`: of a step that ends before its rollout. */
const commandOf = ({ url, fleet }, words) =>
  `npx vedette rollout ${words}${fleet === defaultFleet ? "" : ` --fleet ${fleet}`} --url ${url}`;
const restOf = (step) =>
  latest.isAsked ? `; the rollout continues without this step: ${commandOf(step, "watch")}` : "";

/** That there was nothing to do, or what runs where once it stands still; empty: all went well. */
function foundOf({ state, total, failed, reason = "", standing = [] }) {
  if (state === "completed") return total === 0 ? reason : "";
  const hasFailed = (state === "paused" || state === "cancelled") && failed > 0;
  return hasFailed ? standing.map(({ text }) => text).join(" ") : "";
}

const idOf = ({ rollout_id }) => encodeURIComponent(rollout_id);
const pageOf = ({ url, fleet }, status) => `${url}/console/history/${idOf(status)}?fleet=${fleet}`;

/** A sentence of an answer, without line ends and signs that could make it a command. */
const inSentence = (text) => text.replace(/[^\w .,:@/+-]+/g, " ");

/** Prints each status of our rollout once, and before the first where its page is. */
function createShow(step, isOurs) {
  let last = "";
  return (status) => {
    if (!isOurs(status)) return;
    if (latest.status === undefined) say(`rollout ${idOf(status)}: ${pageOf(step, status)}`);
    latest.status = status;
    const [wave, waves, ready, all, lost] = counts.map((name) => inLine(status[name]));
    const waits = status.waiting_for ? `, waits for the ${inLine(status.waiting_for)}` : "";
    const progress = `wave ${wave}/${waves}, ${ready} of ${all} on the new image, ${lost} failed${waits}`;
    const found = inSentence(foundOf(status));
    const line = `${inLine(nameOf(status))}: ${found || progress}`;
    if (line !== last) say(line);
    last = line;
  };
}

/** Whether a status shows the end. Throws the call's error when it is final. */
function createIsOver({ isOurs, isEnd, enoughEnds }) {
  let ends = 0;
  return (now, error) => {
    const ours = isOurs(now);
    // A refusal is final, whatever the status. After a 5xx our rollout may still be running, since only the
    // call may have been killed.
    if (error !== undefined && !(ours && error.status >= 500)) throw error;
    ends = ours && isEnd(now) ? ends + 1 : 0;
    return ends >= (error === undefined ? enoughEnds : 1);
  };
}

/**
 * Makes a blocking call, if any, and polls the status meanwhile. Returns the call's answer, or, when that doesn't come
 * (its invocation was killed, a proxy lost it), a status of our rollout that shows its end.
 */
async function operate(step, operation) {
  const show = createShow(step, operation.isOurs);
  const isOver = createIsOver(operation);
  const over = new AbortController();
  const outcome = {};
  const blocking = callToEnd(step, operation, over.signal).then(
    (answer) => Object.assign(outcome, { answer }),
    (error) => Object.assign(outcome, { error }),
  );
  try {
    for (;;) {
      const now = await call(step, "Status", patienceMs.toFollow);
      const { answer, error } = outcome;
      show(answer ?? now);
      if (answer !== undefined) return answer;
      if (isOver(now, error)) return now;
      const pause = delay(step.pollMs);
      await (error === undefined ? Promise.race([blocking, pause]) : pause);
    }
  } finally {
    // The rollout continues without this call.
    over.abort();
  }
}

async function rollOut(step) {
  const { request, waits } = step;
  const before = await call(step, "Status", patienceMs.toBegin);
  const isEnd = (now) => !waits || isStill(now);
  latest.isAsked = true;
  if (await isSame(step, before).catch(() => false)) {
    say("a rollout of this image with these options is there already: this step follows it");
    const isOurs = ({ rollout_id }) => {
      if (rollout_id === before.rollout_id) return true;
      throw new StepError("another rollout has begun meanwhile");
    };
    return operate(step, { isOurs, isEnd, enoughEnds: 1 });
  }
  return operate(step, {
    handler: "Rollout",
    body: request,
    // Waits a little longer for the call's own answer, which certainly belongs to this rollout.
    enoughEnds: waits ? 3 : 1,
    // The image may have been pinned to its digest.
    isOurs: ({ rollout_id, image }) =>
      rollout_id !== before.rollout_id && `${image}@`.startsWith(`${request.image}@`),
    isEnd,
  });
}

/** True if the rollout that is there has the image and the options of this step: the job was run again. Where Plan is refused Rollout says why. */
async function isSame(step, { rollout_id: id, state }) {
  if (state !== "in_progress" && state !== "paused") return false;
  const { request } = step;
  const plan = await call(step, "Plan", patienceMs.toBegin, request);
  const { rollouts } = await call(step, "History", patienceMs.toBegin, { limit: 1 });
  const [{ rollout_id, image, policy, wave_percentages, gates = [] }] = rollouts;
  const waves = request.wave_percentages ?? [1, 5, 25, 50, 100];
  return isDeepStrictEqual(
    [rollout_id, image, { on_failure: "pause", ...policy }, wave_percentages, gates],
    [id, plan.image, plan.policy, waves, plan.gates],
  );
}

/** Does what on-failure says. When that fails too, the rollout remains paused. */
async function afterPause(step, paused) {
  if (step.onFailure === "none") return paused;
  say(`the rollout has paused: ${step.onFailure}`);
  try {
    if (step.onFailure === "rollback") return await rollBack(step, paused);
    return await call(step, "Cancel", patienceMs.toFollow);
  } catch (error) {
    sayError(`${step.onFailure} failed: ${error.message}`);
    return paused;
  }
}

async function rollBack(step, paused) {
  let hasBegun = false;
  const result = await operate(step, {
    handler: "RollbackAll",
    body: step.includesFailed ? { include_failed: true } : {},
    enoughEnds: 3,
    isOurs: ({ rollout_id, state }) => {
      hasBegun ||= state !== "paused";
      return rollout_id === paused.rollout_id && hasBegun;
    },
    isEnd: isStill,
  });
  const left = result.not_reverted ?? [];
  for (const { id, reason } of left) sayError(`${id} still has the new image: ${reason}`);
  if (left.length === 0 && result.succeeded > 0) {
    sayError(`${result.succeeded} sentinels still have the new image`);
  }
  if (result.reason !== undefined) sayError(`the rollback ended early: ${result.reason}`);
  return result;
}

/** Reports the final state `end`; the reasons are those of `ended`, before a rollback or Cancel. */
function report(step, end, ended) {
  const next = nextOf(step, end);
  for (const line of next) say(`::notice::${escapeCommand(line)}`);
  const outputs = {
    state: end.state,
    "rollout-id": end.rollout_id,
    succeeded: end.succeeded,
    failed: end.failed,
    ...(end.outcome && { outcome: end.outcome }),
  };
  const lines = [`[Rollout ${idOf(end)}](${pageOf(step, end)})`, ...next.map(inTable)];
  write(outputs, `${summaryOf(end, ended)}\n${lines.map((line) => `- ${line}\n`).join("")}`);
}

function write(outputs, summary) {
  const lines = Object.entries(outputs).map(([name, value]) => `${name}=${asOutput(value)}\n`);
  if (env.GITHUB_OUTPUT) appendFileSync(env.GITHUB_OUTPUT, lines.join(""));
  if (env.GITHUB_STEP_SUMMARY) appendFileSync(env.GITHUB_STEP_SUMMARY, summary);
}

/** The commands for what is left to do. */
function nextOf(step, { state, standing = [], still_ordered_count: left = 0 }) {
  const all = "rollback --include-failed";
  const restore = standing.some((part) => part.down + part.failed_on_image > 0) ? all : "rollback";
  const words = { paused: ["resume", restore, "cancel"] }[state] ?? (left > 0 ? [all] : []);
  const found =
    left > 0
      ? `${Number(left)} failed and ${Number(left) === 1 ? "is" : "are"} still ordered to run the image. `
      : "";
  return words.map((word) => `${found}Next: ${commandOf(step, word)}`);
}

function summaryOf(end, ended) {
  const { image, succeeded, total, failed, reason } = end;
  const found = foundOf(end);
  const rows = (ended.failed_sentinels ?? []).map(
    (sentinel) => `| ${inTable(sentinel.id)} | ${inTable(sentinel.reason)} |\n`,
  );
  const table = rows.length > 0 ? `\n| sentinel | reason |\n|---|---|\n${rows.join("")}` : "";
  const because = reason === undefined || reason === found ? "" : `\n${inTable(reason)}\n`;
  const counts = `${succeeded} of ${total} sentinels on the new image, ${failed} failed`;
  const name = inTable(nameOf(end).replace("_", " "));
  const code = String(image).replace(/[`\r\n]+/g, " ");
  return `### Rollout ${name}\n\n\`${code}\`: ${inTable(found || counts).replace(/\.$/, "")}.\n${because}${table}`;
}

const inTable = (text) =>
  String(text)
    .replace(/[\r\n]+/g, " ")
    .replace(/[\\|`<>*_[\]]/g, "\\$&");

/** Reports a step that ends early, with what is known of its rollout. */
function fail(step, message) {
  sayError(message);
  if (latest.status !== undefined) report(step, latest.status, latest.status);
  write({ error: message }, `### Rollout step failed\n\n${inTable(message)}\n`);
}

async function run(step) {
  const ended = await rollOut(step);
  for (const { id, reason } of ended.failed_sentinels ?? []) sayError(`${id}: ${reason}`);
  report(step, ended.state === "paused" ? await afterPause(step, ended) : ended, ended);
  return step.waits ? (exitCodes[ended.state] ?? 1) : 0;
}

mask(env.INGRESS_TOKEN);
let step;
try {
  step = readSettings();
  const stop = (_, signal) => {
    fail(step, `the step was stopped${restOf(step) || " before it had asked for a rollout"}`);
    process.exit(128 + signal);
  };
  // The runner sends SIGINT to a job that is cancelled, and kills it seconds later.
  process.once("SIGINT", stop).once("SIGTERM", stop);
  process.exitCode = await run(step);
} catch (error) {
  fail(step, error instanceof StepError ? error.message : String(error.stack));
  process.exitCode = 1;
}
