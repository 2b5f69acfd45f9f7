/** Loads the charting library when the first chart is shown, not with the first page. */
import { signal } from "@preact/signals";
import type { ComponentProps } from "preact";
import { useEffect } from "preact/hooks";
import { tryUntilDone } from "#console/web/retry.ts";
import type { Chart } from "./chart.tsx";

const loaded = signal<typeof Chart | undefined>(undefined);

async function load(): Promise<void> {
  loaded.value ??= (await import("./chart.tsx")).Chart;
}

export function LazyChart(props: ComponentProps<typeof Chart>) {
  useEffect(() => tryUntilDone(load), []);
  const { value: Loaded } = loaded;
  if (Loaded === undefined) return <div class="chart waiting">Drawing…</div>;
  return <Loaded {...props} />;
}
