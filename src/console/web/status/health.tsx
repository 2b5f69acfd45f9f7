/** Is a customer hurt? What is wrong now, at the top of the first page, each with the page that says more. */
import { addressOf } from "#console/web/address.ts";
import { withFleet } from "#console/web/chosen-fleet.ts";
import { Notice } from "#console/web/parts/blocks.tsx";
import { useRead } from "#console/web/use-read.ts";
import type { Wrong } from "#status/contract.ts";
import { calmWords } from "./calm.ts";

/** The heading of the page says how the rollout of the fleet stands. */
export function Health({ fleet }: { fleet: string }) {
  const { data, error } = useRead("StatusReads/Read", {}, 15_000);
  if (data === undefined) {
    if (error === undefined) return null;
    return <Notice tone="warn">Nobody can say now whether customers are hurt: {error}</Notice>;
  }
  const wrong = data.wrong.filter(({ about, ...of }) => about !== "rollout" || of.fleet !== fleet);
  const isHurt = wrong.some(({ about }) => about === "sentinels" || about === "alert");
  const words = isHurt ? "Customers may be hurt." : calmWords(data, fleet);
  if (wrong.length === 0) return <p class="quiet">{words}</p>;
  return (
    <section aria-label="What is wrong">
      <Notice tone={isHurt ? "bad" : "warn"}>
        <b>{words}</b>
        <ul class="wrong">
          {wrong.map((one) => (
            <li key={one.text}>
              <a href={addressOf(withFleet(pathOf(one), one.fleet))}>{one.text}</a>
            </li>
          ))}
        </ul>
      </Notice>
    </section>
  );
}

const paths: Record<Wrong["about"], string> = {
  sentinels: "/fleet?health=unhealthy",
  alert: "/checks",
  rollout: "/",
  delivery: "/checks",
  engine: "/",
  fleet_list: "/fleet",
  checks: "/checks",
};

function pathOf({ about, check }: Wrong): string {
  return check === undefined ? paths[about] : `/checks/${check}`;
}
