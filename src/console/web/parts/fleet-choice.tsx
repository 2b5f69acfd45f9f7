/** Chooses the fleet that the pages show, where there are several. */
import {
  chooseFleet,
  chosenFleet,
  fleetNames,
  hasSeveralFleets,
  titleOf,
} from "#console/web/chosen-fleet.ts";

export function FleetChoice() {
  if (!hasSeveralFleets()) return null;
  return (
    <label class="fleet-choice">
      <span>Fleet</span>
      <select
        value={chosenFleet.value}
        onChange={(event) => chooseFleet(event.currentTarget.value)}
      >
        {fleetNames().map((name) => (
          <option key={name} value={name}>
            {titleOf(name)}
          </option>
        ))}
      </select>
    </label>
  );
}
