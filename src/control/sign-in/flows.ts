/** Begun sign-ins. Whoever began one keeps its secrets, sealed: any process may finish it, and none stores it. */
import { z } from "zod";
import { createSealer } from "#kernel/crypto.ts";
import type { Core } from "./core.ts";
import type { Flow } from "./provider.ts";
import { expired } from "./refusals.ts";

/** A person may take so long at the provider. */
export const flowMs = 600_000;

const SealedFlow = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  redirectUri: z.string(),
  bound: z.string(),
});

/** `bound`: of the console, where the browser goes in the end; of the command line, the digest of its secret. */
type Begin = { redirectUri: string; bound: string; remote: string };

export type Flows = {
  start: (begin: Begin) => Promise<{ url: string; state: string; flow: string }>;
  /** undefined: it has expired, or is not ours. */
  read: (sealed: string) => (Flow & { bound: string }) | undefined;
  /** Throws 400 for one that has expired, or is not ours. */
  open: (sealed: string) => Flow & { bound: string };
};

export function createFlows(core: Core, purpose: string): Flows {
  const { provider, secret, nowMs } = core;
  const sealer = createSealer(SealedFlow, { secret, purpose });
  const read = (sealed: string) => sealer.open(sealed, nowMs());
  return {
    read,
    start: async ({ redirectUri, bound, remote }) => {
      core.requireWithin("begin", { remote });
      const { flow, url } = await core.ask(remote, () => provider.start(redirectUri));
      const sealed = sealer.seal({ ...flow, bound }, nowMs() + flowMs);
      return { url, state: flow.state, flow: sealed };
    },
    open: (sealed) => {
      const flow = read(sealed);
      if (flow === undefined) throw expired();
      return flow;
    },
  };
}
