/** Loads the charting library when the first chart is shown, not with the first page. */
import type { ComponentProps } from "preact";
import { useQuery } from "#console/web/address.ts";
import { Outdated, useLoaded } from "#console/web/lazy.tsx";
import type { Chart } from "./chart.tsx";

const load = () => import("./chart.tsx");

export function LazyChart(props: ComponentProps<typeof Chart>) {
  const { loaded: Loaded, isOutdated } = useLoaded(load);
  if (Loaded !== undefined) return <Loaded.Chart {...props} />;
  if (isOutdated) return <Outdated what="The chart" />;
  return <div class="chart waiting">Drawing…</div>;
}

type Span = { hours: number; name: string };

const usual = 24;

/** One of the spans; the usual one if the address names another. */
export function useHours(spans: readonly Span[]): [number, (hours: number) => void] {
  const [text, setText] = useQuery("hours", String(usual));
  const chosen = spans.find(({ hours }) => String(hours) === text);
  return [chosen?.hours ?? usual, (hours) => setText(String(hours))];
}
