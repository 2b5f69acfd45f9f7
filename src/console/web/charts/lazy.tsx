/** Loads the charting library when the first chart is shown, not with the first page. */

import type { ComponentProps } from "preact";
import { lazy, Suspense } from "preact/compat";
import type { Chart } from "./chart.tsx";

const Loaded = lazy(async () => ({ default: (await import("./chart.tsx")).Chart }));

export function LazyChart(props: ComponentProps<typeof Chart>) {
  return (
    <Suspense fallback={<div class="chart waiting">Drawing…</div>}>
      <Loaded {...props} />
    </Suspense>
  );
}
