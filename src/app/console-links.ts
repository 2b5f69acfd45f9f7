/** Where people find the pages of the console: the one place that builds links to it from outside. */
import { hostname } from "node:os";
import type { Config } from "#config.ts";
import { consolePath } from "#console/contract.ts";
import { httpUrl } from "#kernel/address.ts";

export type ConsoleLinks = {
  /** undefined: nothing says where the console is. */
  toCheck: (checkId: string) => string | undefined;
  /** To be told where `control` listens in this process, once it does. */
  noteControl: (url: string) => void;
};

type Settings = { alerts: Pick<Config["alerts"], "console_url">; control: ControlAddress };
type ControlAddress = Pick<Config["control"], "host" | "port" | "public_url">;

/** What the settings name for people comes before the address at which we listen. */
export function createConsoleLinks({ alerts, control }: Settings): ConsoleLinks {
  const named = alerts.console_url || control.public_url;
  let listening = control.port === 0 ? undefined : urlOf(control);
  return {
    toCheck: (checkId) => {
      const base = named === "" ? listening : named;
      if (base === undefined) return undefined;
      return `${withoutPath(base)}${consolePath}/checks/${encodeURIComponent(checkId)}`;
    },
    noteControl: (url) => {
      listening = urlOf({ ...control, port: Number(new URL(url).port) });
    },
  };
}

/** Given as the console's own address, or as that of `control`. */
function withoutPath(base: string): string {
  return base.endsWith(consolePath) ? base.slice(0, -consolePath.length) : base;
}

/** One that listens everywhere is reached by the machine's name. */
function urlOf({ host, port }: Pick<ControlAddress, "host" | "port">): string {
  const isEverywhere = host === "0.0.0.0" || host === "::";
  return httpUrl({ host: isEverywhere ? hostname() : host, port });
}
