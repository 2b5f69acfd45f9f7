/** Finds the address to which the events of an environment are posted, and its token. */
import { readFileSync } from "node:fs";
import type { Environment } from "./contract.ts";

/** The kinds of sources at the incident service; `checkly` is the synthetic monitor. */
export const sourceKinds = ["checkly", "http", "alertmanager"] as const;
export type SourceKind = (typeof sourceKinds)[number];

export type Source = {
  url: string;
  kind: SourceKind;
  /** Reads the token at every call, without a cache. Throws when its file cannot be read or is empty. */
  readToken: () => string;
};

type SourceSettings = {
  source_id: string;
  source_kind: SourceKind;
  token: string;
  token_file: string;
};

export type SourceOf = (channel: Environment) => Source | undefined;

/** Returns undefined for an environment that has no address, no source or no token. */
export function createSourceOf(
  incidentUrl: string,
  settings: Record<Environment, SourceSettings>,
): SourceOf {
  return (channel) => {
    const { source_id: id, source_kind: kind, token, token_file: file } = settings[channel];
    if (incidentUrl === "" || id === "" || (token === "" && file === "")) return undefined;
    return {
      url: `${incidentUrl}/v2/alert_events/${kind}/${encodeURIComponent(id)}`,
      kind,
      readToken: () => (file === "" ? token : readTokenFile(file)),
    };
  };
}

/** While the file is being replaced it may be absent or empty for a moment: the event is retried. */
function readTokenFile(file: string): string {
  const token = readFileSync(file, "utf8").trim();
  if (token === "") throw new Error(`token file ${file} is empty`);
  return token;
}
