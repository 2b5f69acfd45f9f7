/** The moment that a page shows: moved by the operator, played, and kept in the address. */
import { useEffect, useRef, useState } from "preact/hooks";
import { query, setQuery } from "#console/web/address.ts";
import { momentOf, type Past, spanOf, timeOf } from "./moments.ts";

/** Browsers refuse an address that changes too often. */
const noteAfterMs = 400;

const frameMs = 50;
const playSeconds = 20;

export type MomentControl = {
  moment: number;
  isPlaying: boolean;
  /** Moves to the moment that the operator chose, which ends playing. */
  move: (moment: number) => void;
  play: () => void;
  pause: () => void;
};

export function useMoment(past: Past): MomentControl {
  const asked = query.value.get("at");
  const [moment, setMoment] = useState(() => momentOf(past, asked));
  const [isPlaying, setPlaying] = useState(false);
  const { first, end } = spanOf(past);
  useAddress(past, { asked, moment, setMoment });
  useEffect(() => {
    if (!isPlaying) return;
    const step = Math.max(1, Math.round(((end - first) * frameMs) / (playSeconds * 1_000)));
    const timer = setInterval(() => setMoment((now) => Math.min(end, now + step)), frameMs);
    return () => clearInterval(timer);
  }, [isPlaying, first, end]);
  useEffect(() => {
    if (moment >= end) setPlaying(false);
  }, [moment, end]);
  return {
    moment,
    isPlaying,
    move: (to) => {
      setPlaying(false);
      setMoment(Math.min(end, Math.max(first, to)));
    },
    play: () => {
      // At the end it starts anew: nobody wants to see how nothing happens.
      if (moment >= past.last) setMoment(first);
      setPlaying(true);
    },
    pause: () => setPlaying(false),
  };
}

type Kept = { asked: string | null; moment: number; setMoment: (moment: number) => void };

/** A link or Back may lead to another time; what we have written ourselves is no such change. */
function useAddress(past: Past, { asked, moment, setMoment }: Kept): void {
  const written = useRef(asked);
  useEffect(() => {
    if (asked === written.current) return;
    written.current = asked;
    setMoment(momentOf(past, asked));
  }, [asked, past, setMoment]);
  useEffect(() => {
    if (moment === momentOf(past, written.current)) return;
    const timer = setTimeout(() => {
      const at = moment === past.last ? undefined : new Date(timeOf(past, moment)).toISOString();
      written.current = at ?? null;
      setQuery({ at });
    }, noteAfterMs);
    return () => clearTimeout(timer);
  }, [moment, past]);
}
