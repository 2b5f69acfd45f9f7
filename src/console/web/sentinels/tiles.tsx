/** The whole fleet in five numbers; each of them shows its sentinels in the list. */
import { count } from "#console/web/format.ts";
import { Sign, type Tone } from "#console/web/parts/mark.tsx";
import type { FleetOverview, ImageState } from "#fleet/overview/contract.ts";
import type { Filter } from "./search.ts";
import { stateWords } from "./words.ts";

const imageStates = Object.keys(stateWords) as ImageState[];

type Props = {
  overview: FleetOverview;
  show: (filter: Filter, value: string) => void;
};

export function Tiles({ overview, show }: Props) {
  const { states, unhealthy } = overview;
  return (
    <ul class="tiles choices-of-state">
      {imageStates.map((state) => (
        <Tile
          key={state}
          {...stateWords[state]}
          value={states[state] ?? 0}
          show={() => show("state", state)}
        />
      ))}
      <Tile
        name="Unhealthy"
        tone="bad"
        value={unhealthy}
        show={() => show("health", "unhealthy")}
      />
    </ul>
  );
}

type TileProps = { name: string; tone: Tone; value: number; show: () => void };

/** What is wrong has its colour only where there is something. */
function Tile({ name, tone, value, show }: TileProps) {
  return (
    <li>
      <button type="button" class="plain" onClick={show}>
        <span>
          <Sign tone={value === 0 ? "mute" : tone} /> {name}
        </span>
        <b>{count(value)}</b>
      </button>
    </li>
  );
}
