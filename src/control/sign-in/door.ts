/** The addresses at which the command line signs in and out. The front of `control` leaves them to this file. */
import { createHash } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { LRUCache } from "lru-cache";
import { z } from "zod";
import type { Door } from "#control/short-answers.ts";
import { bearerOf, type Identify } from "#control/token.ts";
import { createSealer } from "#kernel/crypto.ts";
import { parseBody } from "#kernel/faults.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { Caller } from "#kernel/roles.ts";
import {
  type BeginAnswer,
  BeginRequest,
  type DeviceAnswer,
  DeviceRequest,
  FinishRequest,
  type PollAnswer,
  PollRequest,
  type SessionAnswer,
  signInPath,
  type WhoAmI,
} from "./contract.ts";
import type { Core } from "./core.ts";
import { createFlows, flowMs } from "./flows.ts";
import type { PersonSession } from "./people.ts";
import type { DeviceStart } from "./provider.ts";
import { expired } from "./refusals.ts";
import type { SignIn } from "./sign-in.ts";

/** `signIn` undefined: nobody signs in here, but whoever has a token may ask whose it is. */
export function createSignInDoor({ signIn, identify, findJob }: SessionParts): Door {
  return {
    isMine: (path) => path.startsWith(`${signInPath}/`),
    plugin: async (app) => {
      serveSession(app, { signIn, identify, findJob });
      if (signIn === undefined) {
        app.post(`${signInPath}/*`, () => {
          throw notConfigured();
        });
        return;
      }
      serveRedirects(app, signIn);
      serveDevices(app, signIn);
    },
  };
}

function serveRedirects(app: FastifyInstance, { core, bearers }: SignIn): void {
  const flows = createFlows(core, "sign-in of the command line");

  app.post(`${signInPath}/begin`, async (request): Promise<z.infer<typeof BeginAnswer>> => {
    const { redirect_uri: redirectUri, challenge } = parseBody(BeginRequest, request.body, "body");
    requireOwnRedirect(redirectUri);
    const begin = { redirectUri, bound: challenge, remote: request.ip };
    const { url, state, flow } = await flows.start(begin);
    const provider = core.provider.host;
    return { provider, authorization_url: url, state, flow, expires_in: flowMs / 1_000 };
  });

  app.post(`${signInPath}/finish`, async (request): Promise<SessionAnswer> => {
    const { flow: sealed, verifier, query } = parseBody(FinishRequest, request.body, "body");
    const flow = flows.open(sealed);
    requireSecret(verifier, flow.bound);
    const claims = await core.finish(flow, { query, remote: request.ip });
    const session = await core.openSession(claims, { remote: request.ip, how: "command line" });
    return toSessionAnswer(session, bearers.seal(session));
  });
}

function serveDevices(app: FastifyInstance, { core, bearers }: SignIn): void {
  const devices = createDevices(core);

  app.post(`${signInPath}/device`, async (request): Promise<z.infer<typeof DeviceAnswer>> => {
    const { challenge } = parseBody(DeviceRequest, request.body, "body");
    const start = await devices.start(challenge, request.ip);
    return {
      provider: core.provider.host,
      user_code: start.userCode,
      verification_uri: start.verificationUri,
      complete_uri: start.completeUri ?? null,
      flow: start.flow,
      interval: start.intervalSeconds,
      expires_in: start.expiresInSeconds,
    };
  });

  app.post(`${signInPath}/device/poll`, async (request): Promise<z.infer<typeof PollAnswer>> => {
    const { flow: sealed, verifier } = parseBody(PollRequest, request.body, "body");
    const flow = devices.open(sealed);
    requireSecret(verifier, flow.challenge);
    const { session, intervalSeconds: interval } = await devices.poll(flow, request.ip);
    const signedIn = session === undefined ? null : toSessionAnswer(session, bearers.seal(session));
    return { signed_in: signedIn, interval };
  });
}

type SessionParts = {
  signIn: SignIn | undefined;
  identify: Identify;
  /** Finds the job of CI by its session; absent: none has one. */
  findJob?: ((bearer: string) => { caller: Caller; endsAtMs: number } | undefined) | undefined;
};

function serveSession(app: FastifyInstance, { signIn, identify, findJob }: SessionParts): void {
  app.get(`${signInPath}/session`, async (request): Promise<z.infer<typeof WhoAmI>> => {
    const bearer = bearerOf(request.headers.authorization);
    const job = findJob?.(bearer);
    const found = await signIn?.find(bearer);
    const caller = job?.caller ?? found?.caller ?? identify(bearer);
    if (caller === undefined) throw unknownBearer();
    const endsAtMs = job?.endsAtMs ?? found?.session.endsAtMs;
    const ends_at = endsAtMs === undefined ? null : toIso(endsAtMs);
    const by = job ? "ci" : found ? "sign-in" : "token";
    return { actor: caller.actor, roles: [...caller.roles], by, ends_at };
  });

  app.delete(`${signInPath}/session`, async (request, reply) => {
    const found = await signIn?.find(bearerOf(request.headers.authorization));
    if (signIn === undefined || found === undefined) throw unknownBearer();
    await signIn.logouts.add(found.session);
    const { actor } = found.session;
    signIn.core.log.info({ actor, remote: request.ip, how: "command line" }, "signed out");
    const what = "command line";
    await signIn.core.record({ event: "session.end", actor, remote: request.ip, what });
    return reply.code(204).send();
  });
}

/** Codes go to a program on the person's own machine only (RFC 8252, 7.3 and 8.3). */
function requireOwnRedirect(text: string): void {
  const url = URL.parse(text);
  const isOwn =
    url?.protocol === "http:" &&
    ["127.0.0.1", "localhost"].includes(url.hostname) &&
    url.port !== "" &&
    url.href === `http://${url.host}/callback`;
  if (isOwn) return;
  const detail = "redirect_uri: must be http://127.0.0.1:<port>/callback, or the same of localhost";
  throw new ProblemError({ status: 400, code: "invalid_request", detail });
}

/** Whoever has seen a code and its state cannot finish a sign-in that another program has begun. */
function requireSecret(verifier: string, challenge: string): void {
  if (createHash("sha256").update(verifier).digest("base64url") === challenge) return;
  const detail = "this sign-in was begun by another program";
  throw new ProblemError({ status: 403, code: "sign_in_refused", detail });
}

function toSessionAnswer(session: PersonSession, token: string): SessionAnswer {
  const { actor, roles, endsAtMs } = session;
  return { token, actor, roles, ends_at: toIso(endsAtMs) };
}

function toIso(ms: number): string {
  return new Date(ms).toISOString();
}

function notConfigured(): ProblemError {
  const detail =
    "nobody signs in here: no identity provider is set (control.oidc). Use a token instead";
  return new ProblemError({ status: 404, code: "sign_in_off", detail });
}

function unknownBearer(): ProblemError {
  const detail = "this is no session that lasts, and no token that is known";
  return new ProblemError({ status: 401, code: "unauthorized", detail });
}

const DeviceFlow = z.object({
  deviceCode: z.string(),
  challenge: z.string(),
  intervalSeconds: z.number(),
});
type DeviceFlow = z.infer<typeof DeviceFlow>;

type Poll = { session: PersonSession | undefined; intervalSeconds: number };

/** Signing in by a code that is entered in a browser anywhere (RFC 8628). */
type Devices = {
  start: (challenge: string, remote: string) => Promise<DeviceStart & { flow: string }>;
  /** Throws 400 for one that has expired, or is not ours. */
  open: (sealed: string) => DeviceFlow;
  /** Asks the provider once, if it is time to; no session: the person has not answered yet. */
  poll: (flow: DeviceFlow, remote: string) => Promise<Poll>;
};

/** RFC 8628, 3.5: after `slow_down` the interval is this much longer. */
const slowDownSeconds = 5;

export function createDevices(core: Core): Devices {
  const { provider, secret, nowMs } = core;
  const sealer = createSealer(DeviceFlow, { secret, purpose: "sign-in of a device" });
  const pace = createPace(nowMs);
  return {
    start: async (challenge, remote) => {
      core.requireWithin("begin", { remote });
      const start = await core.ask(remote, () => provider.startDevice());
      const { deviceCode, intervalSeconds, expiresInSeconds } = start;
      const endsAtMs = nowMs() + expiresInSeconds * 1_000;
      const flow = sealer.seal({ deviceCode, challenge, intervalSeconds }, endsAtMs);
      return { ...start, flow };
    },
    open: (sealed) => {
      const flow = sealer.open(sealed, nowMs());
      if (flow === undefined) throw expired();
      return flow;
    },
    poll: async (flow, remote) => {
      const { deviceCode } = flow;
      if (!pace.isDue(flow)) return { session: undefined, intervalSeconds: pace.intervalOf(flow) };
      core.requireWithin("poll", { remote });
      const answer = await core.ask(remote, () => provider.pollDevice(deviceCode));
      if ("claims" in answer) {
        const session = await core.openSession(answer.claims, { remote, how: "device" });
        return { session, intervalSeconds: flow.intervalSeconds };
      }
      if (answer.isTooFast) pace.slowDown(flow);
      return { session: undefined, intervalSeconds: pace.intervalOf(flow) };
    },
  };
}

/** Whoever polls too fast is not passed on: the provider would end the sign-in of somebody who waits. */
function createPace(nowMs: () => number) {
  const polls = new LRUCache<string, { atMs: number; slowerSeconds: number }>({ max: 10_000 });
  const intervalOf = ({ deviceCode, intervalSeconds }: DeviceFlow) =>
    intervalSeconds + (polls.get(deviceCode)?.slowerSeconds ?? 0);
  return {
    intervalOf,
    isDue: (flow: DeviceFlow): boolean => {
      const known = polls.get(flow.deviceCode);
      const waitMs = intervalOf(flow) * 1_000;
      if (known !== undefined && nowMs() - known.atMs < waitMs) return false;
      polls.set(flow.deviceCode, { atMs: nowMs(), slowerSeconds: known?.slowerSeconds ?? 0 });
      return true;
    },
    slowDown: ({ deviceCode }: DeviceFlow) => {
      const { atMs = nowMs(), slowerSeconds = 0 } = polls.get(deviceCode) ?? {};
      polls.set(deviceCode, { atMs, slowerSeconds: slowerSeconds + slowDownSeconds });
    },
  };
}
