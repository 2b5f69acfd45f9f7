/** The pins that hold a sentinel back, as they are now. */
import { nowMs } from "#console/web/live.ts";
import { Link } from "#console/web/router.tsx";
import { useRead } from "#console/web/use-read.ts";
import { type Member, pinsOn, untilOf } from "./which.ts";

export function HeldBack({ sentinel }: { sentinel: Member }) {
  const { data } = useRead("RolloutPins/List", {}, 10_000);
  const pins = pinsOn(sentinel, data?.pins ?? [], nowMs.value);
  return (
    <>
      {pins.map((pin) => (
        <p key={pin.id}>
          Held back by the pin <Link to="/pins">{pin.id}</Link> {untilOf(pin)}: {pin.reason}
        </p>
      ))}
    </>
  );
}
