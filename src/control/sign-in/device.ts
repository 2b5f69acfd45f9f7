/** Signing in by a code that is entered in a browser anywhere (RFC 8628). */
import { LRUCache } from "lru-cache";
import { z } from "zod";
import { createSealer } from "#kernel/seal.ts";
import type { Core } from "./core.ts";
import type { PersonSession } from "./people.ts";
import type { DeviceStart } from "./provider.ts";
import { expired } from "./refusals.ts";

const DeviceFlow = z.object({
  deviceCode: z.string(),
  challenge: z.string(),
  intervalSeconds: z.number(),
});
type DeviceFlow = z.infer<typeof DeviceFlow>;

type Poll = { session: PersonSession | undefined; intervalSeconds: number };

export type Devices = {
  begin: (challenge: string, remote: string) => Promise<DeviceStart & { flow: string }>;
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
    begin: async (challenge, remote) => {
      core.requireWithin("begin", { remote });
      const start = await core.ask(remote, () => provider.beginDevice());
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
