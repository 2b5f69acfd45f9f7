/** What may stand between double braces in a check: a secret, and in steps what an earlier one took. Pure. */
import type { ChannelRow } from "#definitions/rows/channel.ts";
import type { CheckRow } from "#definitions/rows/check.ts";
import type { CompleteStep } from "#definitions/rows/steps.ts";
import { catchMisdirected, MisdirectedSecret } from "#kernel/secrets.ts";
import { secretName } from "#monitor/contract.ts";
import { extractName } from "#monitor/kinds/contract.ts";
import type { Finding } from "./finding.ts";
import { findPlaceholders } from "./placeholders.ts";

type Fault = { field: (string | number)[]; message: string };

export function lintPlaceholders(row: CheckRow): Fault[] {
  switch (row.kind) {
    case "http":
      return findUnfit({ url: row.url, path: row.path, headers: row.headers, body: row.body });
    case "tcp":
      return findUnfit({ send: row.send });
    case "steps":
      return row.steps.flatMap((step, index) => lintStep(step, index, row.steps));
    default:
      return [];
  }
}

/** The secret of the row that `build` would send to where it does not belong, at the field that has it. */
export function locateSecret(
  section: "channels" | "checks",
  row: ChannelRow | CheckRow,
  build: () => unknown,
): Finding[] {
  const found = catchMisdirected(build);
  if (!(found instanceof MisdirectedSecret)) return [];
  const places = findPlaceholders(row).filter(
    ({ field: [part, index] }) => part !== "steps" || index === found.step,
  );
  const named = places.find(({ name }) => name === found.secret);
  // Else it is in what an earlier step takes.
  const { field = [] } = named ?? places.find(({ name }) => extractName.test(name)) ?? {};
  return [{ section, key: row.id, field, message: found.message }];
}

const onlySecrets =
  "between double braces is the name of a secret, such as {{API_KEY}}, and only in a value";

function findUnfit(fields: object): Fault[] {
  return findPlaceholders(fields)
    .filter(({ name }) => !secretName.test(name))
    .map(({ field }) => ({ field, message: onlySecrets }));
}

const secretsOrValues =
  "between double braces is the name of a secret, such as {{API_KEY}}, or of what an earlier step takes from its answer, such as {{order_id}}, and only in a value";

function lintStep(
  { url, path, headers, body }: CompleteStep,
  index: number,
  steps: readonly CompleteStep[],
): Fault[] {
  const namesOf = (some: readonly CompleteStep[]) =>
    new Set(some.flatMap(({ extract }) => Object.keys(extract)));
  const known = namesOf(steps.slice(0, index));
  const all = namesOf(steps);
  const inHost = new Set(findPlaceholders(hostOf(url)).map(({ name }) => name));
  return findPlaceholders({ url, path, headers, body }).flatMap(({ name, field }): Fault[] => {
    if (secretName.test(name)) return [];
    if (!known.has(name))
      return [{ field: ["steps", index, ...field], message: faultOf(name, all) }];
    const isHost = field[0] === "url" && inHost.has(name);
    return isHost ? [{ field: ["steps", index, "url"], message: noHost }] : [];
  });
}

const noHost =
  "what a step takes from its answer must not name the host: the secrets of the request would go wherever an answer says";

function hostOf(url: string | undefined): string {
  return /^\w+:\/\/([^/?#]*)/.exec(url ?? "")?.[1] ?? "";
}

function faultOf(name: string, all: ReadonlySet<string>): string {
  if (!extractName.test(name)) return secretsOrValues;
  return all.has(name)
    ? `{{${name}}} is used before a step takes it from its answer`
    : `no step takes {{${name}}} from its answer: name it in \`extract\` of an earlier one`;
}
