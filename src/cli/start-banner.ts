/** What a start says once the program is ready: a few lines on a terminal, fields of one line in a log. */
import path from "node:path";
import { consoleUrlOf } from "#app/console-links.ts";
import { ticketMinutes } from "#console/contract.ts";
import type { Endpoints } from "#embedded/contract.ts";

export type Ready = {
  endpoints: Endpoints;
  dataDir: string;
  /** The address of `control` for browsers; empty: the one at which it listens. */
  publicUrl: string;
  /** Whether the sentinels are those of this machine, which take any image. */
  isFleetLocal: boolean;
  /** Why no alert leaves the program; absent: some do. */
  nobody?: string | undefined;
};

const exampleRollout = "npx vedette rollout start registry.example.com/vedette/sentinel:v2 --wait";

/** `ticket` makes the console's address a link that signs in; undefined: it is the plain address. */
export function bannerLines(ready: Ready, ticket?: string): string[] {
  const { console, docs, credentials } = placesOf(ready);
  const hasConsole = console !== undefined;
  const link = ticket === undefined ? "" : `#ticket=${ticket}`;
  const once = `  The link signs in once, within ${ticketMinutes} minutes; a new one: npx vedette console`;
  return [
    "",
    "  Vedette is ready.",
    ...(docs === undefined ? [] : [line("Public API", docs)]),
    line("Credentials", credentials),
    line("Addresses", path.join(ready.dataDir, "endpoints.json")),
    ...(ready.nobody === undefined ? [] : [line("Alerts", describeNobody(ready.nobody))]),
    "",
    ...(hasExample(ready) ? ["  Try a rollout:", `    ${exampleRollout}`, ""] : []),
    // Last, where it is found although log lines follow.
    ...(hasConsole && ticket !== undefined ? [once] : []),
    ...(hasConsole ? [line("Console", `${console}${link}`), ""] : []),
  ];
}

function describeNobody(why: string): string {
  return `No alert leaves this program yet: ${why}. What to set: npx vedette doctor`;
}

function line(name: string, value: string): string {
  return `    ${name.padEnd(12)} ${value}`;
}

/** Never with a ticket: a log is kept, and others read it. */
export function readyFields(ready: Ready): Record<string, unknown> {
  const { console, docs, credentials } = placesOf(ready);
  return {
    ...ready.endpoints,
    ...(console !== undefined && { console }),
    ...(docs !== undefined && { docs }),
    credentials,
    ...(ready.nobody !== undefined && { alerts: describeNobody(ready.nobody) }),
    ...(hasExample(ready) && { try: exampleRollout }),
  };
}

/** Without the gateway in this process the command would have no address to call; a fleet of one's own has other images. */
function hasExample({ endpoints: { control }, isFleetLocal }: Ready): boolean {
  return control !== undefined && isFleetLocal;
}

function placesOf({ endpoints: { api, control }, dataDir, publicUrl }: Ready) {
  return {
    console: control === undefined ? undefined : consoleUrlOf(publicUrl || control),
    docs: api === undefined ? undefined : `${api}/docs`,
    credentials: path.join(dataDir, "credentials.json"),
  };
}
