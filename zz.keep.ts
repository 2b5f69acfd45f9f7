import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { emptySet } from "#definitions/rows/contract.ts";
import { startProgram } from "../../support/program/program.ts";
const digest = (t: string) => createHash("sha256").update(t).digest("hex");
it("explore", async () => {
  const env: Record<string,string> = {};
  for (const [n, r] of Object.entries({ rae: "read", opa: "operate", app: "approve", con: "configure", not: "notify" })) {
    env[`VEDETTE_CONTROL__OPERATORS__${n.toUpperCase()}__TOKEN`] = digest(`of-${n}`);
    env[`VEDETTE_CONTROL__OPERATORS__${n.toUpperCase()}__ROLES`] = r;
  }
  const p = await startProgram(env);
  onTestFinished(() => p.dispose());
  const { control, api, restate_ingress: ing, restate_admin: adm, metrics } = p.endpoints() as any;
  console.log(JSON.stringify(p.endpoints()));
  const runner = randomBytes(32).toString("base64url");
  const ping = randomBytes(32).toString("base64url");
  const post = (path: string, body: unknown, as: string, headers = {}) => fetch(`${control}/${path}`, { method: "POST", headers: { authorization: `Bearer ${as}`, "content-type": "application/json", ...headers }, body: JSON.stringify(body) }).then(async (a) => [a.status, (await a.text()).slice(0, 300)]);
  console.log("apply", await post("vedette.v1.Definitions/singleton/Apply", { definitions: { ...emptySet, locations: [{ id: "fra", name: "fra" }], checks: [
     { id: "all", name: "all", environment: "staging", channels: [], url: "http://127.0.0.1:1/", frequencySeconds: 10 },
     { id: "here", name: "here", environment: "staging", channels: [], url: "http://127.0.0.1:1/", frequencySeconds: 10, locations: ["us-east-1"] },
     { id: "secret", name: "secret", environment: "staging", channels: [], url: "http://127.0.0.1:1/", headers: { authorization: "{{TOK}}" }, frequencySeconds: 10 },
  ], heartbeats: [{ id: "backup", name: "b", environment: "staging", channels: [], periodSeconds: 60, graceSeconds: 60 }] } }, "of-con"));
  console.log("runner add", await post("vedette.v1.MonitorRunners/Add", { location: "fra", token_hash: digest(runner) }, "of-con"));
  console.log("runner add rae", await post("vedette.v1.MonitorRunners/Add", { location: "fra", token_hash: digest(runner) }, "of-rae"));
  console.log("hb register with the runner's hash", await post("vedette.v1.Heartbeat/backup/Register", { token_hash: digest(runner) }, "of-con"));
  console.log("hb register", await post("vedette.v1.Heartbeat/backup/Register", { token_hash: digest(ping) }, "of-con"));
  console.log("work", await post("runner/work", { kinds: ["http"] }, runner));
  console.log("work w/o kinds", await post("runner/work", {}, runner));
  console.log("work ping token", await post("runner/work", { kinds: ["http"] }, ping));
  for (const path of ["vedette.v1.StatusReads/Read", "vedette.v1.SentinelRolloutService/singleton/Status", "console/api/session", "sign-in/session", "ci/session"]) console.log("runner at", path, await post(path, { token: runner }, runner));
  console.log("runner ping", await fetch(`${control}/ping/${runner}`).then((a) => a.status));
  const now = Date.now();
  const result = (o: object) => ({ checkId: "all", location: "fra", scheduledAtMs: Math.ceil(now / 10000) * 10000, startedAtMs: now, durationMs: 1, phases: { dnsMs: null, tcpMs: null, tlsMs: null, firstByteMs: null, downloadMs: null }, cause: null, status: 200, grade: "ok", reason: null, tlsDaysLeft: null, ...o });
  console.log("report", await post("runner/report", { results: [result({})] }, runner));
  console.log("report other location", await post("runner/report", { results: [result({ location: "local" })] }, runner));
  console.log('CUT');
  for (const [w, path, as, body, headers] of [
    ["query", "vedette.v1.StatusReads/Read?x=1", "of-rae", {}, {}],
    ["double slash", "/vedette.v1.StatusReads/Read", "of-rae", {}, {}],
    ["encoded", "vedette.v1.StatusReads%2fRead", "of-rae", {}, {}],
    ["key 64k", "vedette.v1.SentinelRolloutService/singleton/Pause", "of-opa", {}, { "idempotency-key": "k".repeat(12000) }],
    ["key ws", "vedette.v1.SentinelRolloutService/singleton/Pause", "of-opa", {}, { "idempotency-key": "   " }],
    ["key control", "vedette.v1.SentinelRolloutService/singleton/Pause", "of-opa", {}, { "idempotency-key": "control-1" }],
    ["drift unknown fleet", "vedette.v1.FleetService/Drift", "of-rae", { fleet: "__proto__" }, {}],
    ["status of proto", "vedette.v1.SentinelRolloutService/constructor/Status", "of-rae", {}, {}],
    ["plan proto", "vedette.v1.SentinelRolloutService/constructor/Plan", "of-rae", { image: "vedette/sentinel:v2" }, {}],
    ["plan gate off", "vedette.v1.SentinelRolloutService/singleton/Plan", "of-rae", { image: "vedette/sentinel:v2", gate: { checks: ["secret"] } }, {}],
    ["plan webhook gate", "vedette.v1.SentinelRolloutService/singleton/Plan", "of-rae", { image: "vedette/sentinel:v2", gates: [{ kind: "webhook", channel: "x" }] }, {}],
    ["proof unknown", "vedette.v1.RolloutProofs/Read", "of-rae", { rollout_id: "x" }, {}],
    ["proof make", "vedette.v1.RolloutProofs/make", "of-con", { rollout_id: "x" }, {}],
    ["replay unknown", "vedette.v1.RolloutReplay/Replay", "of-rae", { rollout_id: "x", policy: {} }, {}],
    ["log as read", "vedette.v1.FleetService/Log", "of-rae", { sentinel: "gw-1" }, {}],
    ["troubled as read", "vedette.v1.Engine/Troubled", "of-rae", {}, {}],
    ["apply routes as con", "vedette.v1.AlertRoutes/singleton/Apply", "of-con", {}, {}],
    ["preview", "vedette.v1.AlertEvents/Preview", "of-rae", {}, {}],
    ["check run", "vedette.v1.ApiCheck/all/Run", "of-rae", {}, {}],
    ["check run as configure", "vedette.v1.ApiCheck/all/Run", "of-con", {}, {}],
    ["drill", "vedette.v1.Drill/x/Run", "of-rae", {}, {}],
    ["rollout with pause default", "vedette.v1.SentinelRolloutService/singleton/Rollout", "of-con", { image: "vedette/sentinel:v2" }, {}],
  ] as const) console.log(w, await post(path, body, as, headers));
  const raw = (text: string, at = control) => new Promise<string>((ok) => { const u = new URL(at); const s = connect(Number(u.port), u.hostname); let d = ""; s.on("data", (c) => (d += c)); s.on("close", () => ok(d.split("\r\n")[0] + " | " + d.slice(-160).replace(/\s+/g, " "))); s.on("error", () => ok("error")); s.write(text); setTimeout(() => s.destroy(), 1500); });
  const auth = "Authorization: Bearer of-opa\r\n";
  for (const [w, t] of [
    ["absolute form", `POST http://evil/vedette.v1.StatusReads/Read HTTP/1.1\r\nHost: x\r\n${auth}Content-Length: 0\r\n\r\n`],
    ["two lengths", `POST /vedette.v1.StatusReads/Read HTTP/1.1\r\nHost: x\r\n${auth}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    ["te+cl", `POST /vedette.v1.StatusReads/Read HTTP/1.1\r\nHost: x\r\n${auth}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ["two auths", `POST /vedette.v1.StatusReads/Read HTTP/1.1\r\nHost: x\r\n${auth}Authorization: Bearer of-rae\r\nContent-Length: 0\r\n\r\n`],
    ["bearer with comma", `POST /vedette.v1.StatusReads/Read HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer of-rae, Bearer x\r\nContent-Length: 0\r\n\r\n`],
    ["lower bearer tab", `POST /vedette.v1.StatusReads/Read HTTP/1.1\r\nHost: x\r\nauthorization: bearer\tof-rae\r\nContent-Length: 0\r\n\r\n`],
    ["connect", `CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: x\r\n${auth}\r\n`],
    ["upgrade", `GET /console/api/events HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n`],
    ["trace", `TRACE / HTTP/1.1\r\nHost: x\r\n\r\n`],
    ["star", `OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n`],
    ["dots to doors", `GET /status.json/../runner/work HTTP/1.1\r\nHost: x\r\n\r\n`],
    ["console dots", `GET /console/assets/../../../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n`],
    ["console enc dots", `GET /console/assets/%2e%2e/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n`],
    ["console nul", `GET /console/assets/%00 HTTP/1.1\r\nHost: x\r\n\r\n`],
    ["keys page post", `POST /.well-known/vedette-proof-keys.json HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`],
    ["keys page", `GET /.well-known/vedette-proof-keys.json HTTP/1.1\r\nHost: x\r\n\r\n`],
    ["keys page query", `GET /.well-known/vedette-proof-keys.json?x HTTP/1.1\r\nHost: x\r\n\r\n`],
  ] as const) console.log(w, await raw(t));
  // console
  const session = await fetch(`${control}/console/api/session`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ token: "of-opa" }) });
  const cookie = session.headers.get("set-cookie")!.split(";")[0]!;
  const { csrf } = await session.json() as any;
  const cons = (path: string, method = "POST", headers: Record<string, string> = {}, body: unknown = {}) => fetch(`${control}/console/api/${path}`, { method, headers: { cookie, "content-type": "application/json", ...headers }, ...(method !== "GET" && { body: JSON.stringify(body) }) }).then(async (a) => [a.status, (await a.text()).slice(0, 150)]);
  const pause = "vedette.v1.SentinelRolloutService/singleton/Pause";
  console.log("no csrf", await cons(pause));
  console.log("null origin", await cons(pause, "POST", { "x-csrf-token": csrf, origin: "null" }));
  console.log("other origin", await cons(pause, "POST", { "x-csrf-token": csrf, origin: "http://evil.example" }));
  console.log("cross-site", await cons(pause, "POST", { "x-csrf-token": csrf, "sec-fetch-site": "same-site" }));
  console.log("good", await cons(pause, "POST", { "x-csrf-token": csrf }, { expect: { rollout_id: null, state: "idle" } }));
  console.log("text/plain", await fetch(`${control}/console/api/${pause}`, { method: "POST", headers: { cookie, "content-type": "text/plain" }, body: "{}" }).then(async (a) => [a.status, (await a.text()).slice(0, 100)]));
  console.log("approve as operate", await cons("vedette.v1.SentinelRolloutService/singleton/Approve", "POST", { "x-csrf-token": csrf }, { expect: { rollout_id: null, state: "idle" } }));
  console.log("definitions apply", await cons("vedette.v1.Definitions/singleton/Apply", "POST", { "x-csrf-token": csrf }, {}));
  console.log("send", await cons(`${pause}/send`, "POST", { "x-csrf-token": csrf }, { expect: { rollout_id: null, state: "idle" } }));
  console.log("link", await cons("session/link", "POST", {}, { token: "of-opa" }));
  console.log("reads", await cons("read/key-usage", "POST", {}, { hours: 1 }), await cons("read/fleet?fleet=__proto__", "POST", {}, {}));
  const events = await fetch(`${control}/console/api/events`, { headers: { cookie } });
  const t0 = Date.now();
  const readAll = (async () => { try { for await (const _ of events.body as any) {} } catch {} return Date.now() - t0; })();
  console.log("signout", await cons("session", "DELETE", { "x-csrf-token": csrf }));
  console.log("stream ended after", await Promise.race([readAll, new Promise((ok) => setTimeout(() => ok("NOT in 12 s"), 12000))]));
  console.log("cookie after", await cons("session", "GET"));
}, 200000);
