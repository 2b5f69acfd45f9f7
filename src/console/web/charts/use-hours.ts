/** The time span of a page's charts, in hours. The address keeps it. */
import { useQuery } from "#console/web/address.ts";

type Span = { hours: number; name: string };

const usual = 24;

/** One of the spans; the usual one if the address names another. */
export function useHours(spans: readonly Span[]): [number, (hours: number) => void] {
  const [text, setText] = useQuery("hours", String(usual));
  const chosen = spans.find(({ hours }) => String(hours) === text);
  return [chosen?.hours ?? usual, (hours) => setText(String(hours))];
}
