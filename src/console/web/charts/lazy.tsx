/** Loads the charting library when the first chart is shown, not with the first page. */
import { signal } from "@preact/signals";
import type { ComponentProps } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useQuery } from "#console/web/address.ts";
import { connection } from "#console/web/live.ts";
import { tryUntilDone } from "#console/web/retry.ts";
import type { Chart } from "./chart.tsx";

const loaded = signal<typeof Chart | undefined>(undefined);

async function load(): Promise<void> {
  loaded.value ??= (await import("./chart.tsx")).Chart;
}

/** Then the server may be of another version, or the browser remembers a missing file: a reload helps in both cases. */
const mostFailures = 3;

export function LazyChart(props: ComponentProps<typeof Chart>) {
  const [failures, setFailures] = useState(0);
  useEffect(() => {
    const attempt = () =>
      load().catch((problem: unknown) => {
        if (connection.peek() === "live") setFailures((before) => before + 1);
        throw problem;
      });
    return tryUntilDone(attempt);
  }, []);
  const { value: Loaded } = loaded;
  if (Loaded !== undefined) return <Loaded {...props} />;
  if (failures >= mostFailures) return <Outdated />;
  return <div class="chart waiting">Drawing…</div>;
}

function Outdated() {
  return (
    <div class="chart waiting" role="status">
      <p>No chart can be loaded: this page may be of an earlier version.</p>
      <button type="button" onClick={() => location.reload()}>
        Reload the page
      </button>
    </div>
  );
}

type Span = { hours: number; name: string };

const usual = 24;

/** One of the spans; the usual one if the address names another. */
export function useHours(spans: readonly Span[]): [number, (hours: number) => void] {
  const [text, setText] = useQuery("hours", String(usual));
  const chosen = spans.find(({ hours }) => String(hours) === text);
  return [chosen?.hours ?? usual, (hours) => setText(String(hours))];
}
