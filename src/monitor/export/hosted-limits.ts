/** What the hosted monitor does not have, or accepts silently in another sense. */
import type { ApiCheck, Definitions } from "#monitor/contract.ts";
import { hostedLocations } from "#monitor/hosted/contract.ts";
import { isHttp } from "#monitor/kinds/contract.ts";

/** Frequencies of the hosted monitor, seconds: 10S to 24H. */
export const hostedFrequencies: readonly number[] = [
  10, 20, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400,
];

const maxFailedRuns = 5;

/** One line per row that cannot be exported as it is, each beginning with its id; empty: all can. */
export function findUnhosted({ apiChecks, heartbeats }: Definitions): string[] {
  const byCron = heartbeats.filter(({ schedule, drill }) => schedule && !drill);
  const http = apiChecks.filter(isHttp);
  return [
    ...http.flatMap((check) => faultsOf(check).map((fault) => `${check.id}: ${fault}`)),
    ...byCron.map(({ id }) => `${id}: the hosted monitor has no cron, only periods`),
  ];
}

/** One line per check or drill that is left out of the export. */
export function findLeftOut({ apiChecks, heartbeats }: Definitions): string[] {
  const drills = heartbeats.filter(({ drill }) => drill !== undefined);
  return [
    ...apiChecks.flatMap((check) =>
      isHttp(check) ? [] : [`${check.id}: checks of kind ${check.kind} are not exported`],
    ),
    ...drills.map(({ id }) => `${id}: drills are not exported`),
  ];
}

function faultsOf({ locations, frequencySeconds, failedRunThreshold }: ApiCheck): string[] {
  const own = locations.filter((location) => !hostedLocations.includes(location));
  return [
    own.length > 0 && `the hosted monitor has no location ${own.join(", ")}`,
    !hostedFrequencies.includes(frequencySeconds) &&
      `the hosted monitor has no frequency of ${frequencySeconds} s`,
    failedRunThreshold > maxFailedRuns &&
      `the hosted monitor counts ${maxFailedRuns} failed runs at most`,
  ].filter((fault) => fault !== false);
}
