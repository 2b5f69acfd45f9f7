/** What the hosted monitor does not have, or accepts silently in another sense. */
import type { CheckOf, Definitions } from "#monitor/contract.ts";
import { hostedLocations } from "#monitor/hosted/contract.ts";
import { type Assertion, expandStatuses, isHttp } from "#monitor/kinds/contract.ts";

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

function faultsOf(check: CheckOf<"http">): string[] {
  const { locations, frequencySeconds, failedRunThreshold, assertions } = check;
  const own = locations.filter((location) => !hostedLocations.includes(location));
  return [
    own.length > 0 && `the hosted monitor has no location ${own.join(", ")}`,
    !hostedFrequencies.includes(frequencySeconds) &&
      `the hosted monitor has no frequency of ${frequencySeconds} s`,
    failedRunThreshold > maxFailedRuns &&
      `the hosted monitor counts ${maxFailedRuns} failed runs at most`,
    assertsFailure(assertions) &&
      statusesOf(assertions).some((status) => status < 400) &&
      "the hosted monitor takes statuses below 400 or from 400 on, not both",
  ].filter((fault) => fault !== false);
}

/** True if an asserted status is 400 or above: without `shouldFail` it fails at the hosted monitor, whatever is asserted. */
export function assertsFailure(assertions: readonly Assertion[]): boolean {
  return statusesOf(assertions).some((status) => status >= 400);
}

function statusesOf(assertions: readonly Assertion[]): number[] {
  return assertions.flatMap((one) => (one.source === "status" ? expandStatuses(one.equals) : []));
}

/** The statuses between the first and the last that are not among them. */
export function gapsOf(statuses: readonly number[]): number[] {
  const [first = 0, last = 0] = [statuses[0], statuses.at(-1)];
  const between = Array.from({ length: last - first }, (_, index) => first + index);
  return between.filter((status) => !statuses.includes(status));
}
