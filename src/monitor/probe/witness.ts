/** Tells a lost network from a failing target by addresses that answer whenever the network works. */
import { connect } from "node:net";
import { isLoopback } from "#kernel/address.ts";
import { inTime } from "#kernel/async.ts";
import type { WitnessAddress } from "#monitor/config.ts";
import type { CheckResult, RunnableCheck } from "#monitor/contract.ts";
import { kindOf } from "#monitor/kinds/contract.ts";
import type { RunOutcome } from "./run-check.ts";

type Parts = {
  /** None: every result counts. */
  addresses: readonly WitnessAddress[];
  /** Told when the network is lost, and when it is back. */
  onChange: (isLost: boolean) => void;
  nowMs: () => number;
};

export type Witness = ReturnType<typeof createWitness>;

/** The limit for all addresses together, which are asked at once. */
const pollLimitMs = 3_000;
/** Checks that fail at once share a look. */
const freshMs = 5_000;

export function createWitness({ addresses, onChange, nowMs }: Parts) {
  let isLost = false;
  let looked: { atMs: number; answer: Promise<boolean> } | undefined;
  const set = (value: boolean) => {
    if (value !== isLost) onChange(value);
    isLost = value;
    return value;
  };
  const poll = async () => set(!(await anyAnswers(addresses)));
  const ask = () => {
    if (looked === undefined || Math.abs(nowMs() - looked.atMs) > freshMs) {
      looked = { atMs: nowMs(), answer: poll() };
    }
    return looked.answer;
  };
  return {
    /** The result; null: it says nothing, since this location has lost its network. */
    async judge(
      outcome: RunOutcome,
      of: { check: RunnableCheck; baseUrl: string },
    ): Promise<CheckResult | null> {
      const { isUnreached, ...result } = outcome;
      if (addresses.length === 0) return result;
      if (isUnreached !== true) {
        // Something has answered. A target nearby may do so without the network.
        if (result.cause !== "error" && !isNearby(of.check, of.baseUrl)) set(false);
        return result;
      }
      if (isNearby(of.check, of.baseUrl)) return result;
      return (await ask()) ? null : result;
    },
  };
}

/** The witness of a program without addresses. */
export const noWitness = createWitness({ addresses: [], onChange: () => {}, nowMs: Date.now });

async function anyAnswers(addresses: readonly WitnessAddress[]): Promise<boolean> {
  const signal = AbortSignal.timeout(pollLimitMs);
  const looks = addresses.map((address) => answers(address, signal));
  return inTime(() => Promise.any(looks).then(() => true), {
    limitMs: pollLimitMs,
    otherwise: false,
  });
}

/** Rejects when there is no connection. A refusal is an answer: the network works. */
function answers({ host, port }: WitnessAddress, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, signal, autoSelectFamily: true });
    const end = (done: () => void) => {
      socket.destroy();
      done();
    };
    socket.once("connect", () => end(resolve));
    socket.on("error", (error: NodeJS.ErrnoException) =>
      end(error.code === "ECONNREFUSED" ? resolve : () => reject(error)),
    );
  });
}

/** True if a target of the check is on this machine: what it says holds without a network, too. */
function isNearby(check: RunnableCheck, baseUrl: string): boolean {
  const hosts = kindOf(check).hostsOf(check, baseUrl);
  return hosts.some((host) => isLoopback(host) || host.endsWith(".localhost"));
}
