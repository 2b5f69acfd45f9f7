import { hostname } from "node:os";
import type { LinkTo } from "#alerts/payload.ts";
import type { Config } from "#config.ts";
import { consolePath } from "#console/contract.ts";
import { httpUrl } from "#kernel/address.ts";
import { isDriftNotice } from "#rollout/desired/notices.ts";

export type ConsoleLinks = {
  to: LinkTo;
  /** Must be called when `control` listens in this process. */
  setControl: (url: string) => void;
};

type Settings = { alerts: Pick<Config["alerts"], "console_url">; control: ControlAddress };
type ControlAddress = Pick<Config["control"], "host" | "port" | "public_url">;

/** An address in the settings takes precedence over the one at which we listen. */
export function createConsoleLinks({ alerts, control }: Settings): ConsoleLinks {
  const named = alerts.console_url || control.public_url;
  let listening = control.port === 0 ? undefined : urlOf(control);
  const toPage = (path: string) => {
    const base = named === "" ? listening : named;
    return base === undefined ? undefined : `${consoleUrlOf(base)}/${path}`;
  };
  return {
    to: {
      check: (checkId) => toPage(`checks/${encodeURIComponent(checkId)}`),
      rollout: ({ rolloutId, fleet }) =>
        toPage(
          isDriftNotice(rolloutId) ? `fleet?fleet=${fleet}` : `history/${rolloutId}?fleet=${fleet}`,
        ),
    },
    setControl: (url) => {
      listening = urlOf({ ...control, port: Number(new URL(url).port) });
    },
  };
}

/** The console's own address. The settings may have that already, or that of `control`. */
export function consoleUrlOf(base: string): string {
  return base.endsWith(consolePath) ? base : `${base}${consolePath}`;
}

/** A server that listens on all interfaces is reached by the machine's name. */
function urlOf({ host, port }: Pick<ControlAddress, "host" | "port">): string {
  const isEverywhere = host === "0.0.0.0" || host === "::";
  return httpUrl({ host: isEverywhere ? hostname() : host, port });
}
