/** The last lines of a sentinel's log: of its newest failed deploy, or of what runs now. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { shortImage } from "#console/web/format.ts";
import { may } from "#console/web/may.ts";
import { Link } from "#console/web/router.tsx";
import { when } from "#console/web/times.ts";
import { useRead } from "#console/web/use-read.ts";
import type { SentinelLog } from "#fleet/contract.ts";

type Props = {
  sentinel: string;
  which: "failed" | "running";
  /** The page of a sentinel, for those that failed in the same way; without it they are only named. */
  pageOf?: (sentinel: string) => string;
};

export function LogTail(props: Props) {
  if (!may("operate")) return <p class="quiet">A log may be read with the role operate.</p>;
  return <Reading key={`${props.which} ${props.sentinel}`} {...props} />;
}

function Reading({ sentinel, which, pageOf }: Props) {
  const { data, error, reload } = useRead("FleetService/Log", { sentinel, which });
  const again = which === "running" && <Button words="Read again" onClick={reload} />;
  if (data === undefined) {
    return (
      <div class="log">
        <p class="quiet" role="status">
          {error === undefined ? "Reading the log…" : `No log: ${error}`}
        </p>
        {error !== undefined && <Button words="Read again" onClick={reload} />}
      </div>
    );
  }
  const { lines, note, similar = [] } = data;
  return (
    <div class="log">
      <div class="row">
        <p class="grow quiet">
          {lines.length === 0 ? `No log: ${note ?? "there is none"}.` : captionOf(data)}
        </p>
        {error !== undefined && <p role="alert">Not read again: {error}</p>}
        {again}
        {lines.length > 0 && <Copy text={lines.join("\n")} />}
      </div>
      {lines.length > 0 && <Lines lines={lines} label={labelOf(sentinel, which)} />}
      {lines.length > 0 && note !== undefined && <p class="quiet">Note: {note}.</p>}
      {similar.length > 0 && <Similar ids={similar} pageOf={pageOf} />}
    </div>
  );
}

/** A sentinel's page has both. */
function labelOf(sentinel: string, which: Props["which"]): string {
  return which === "failed" ? `Log of the failed deploy of ${sentinel}` : `Log of ${sentinel}`;
}

function captionOf({ lines, image, at }: SentinelLog): string {
  const many = lines.length === 1 ? "The last line" : `The last ${lines.length} lines`;
  return `${many} of ${shortImage(image)}${at === undefined ? "" : `, read ${when(at)}`}`;
}

/** Shows the end, where the cause mostly is. */
function Lines({ lines, label }: { lines: readonly string[]; label: string }) {
  const block = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: other lines have another end
  useLayoutEffect(() => {
    const { current } = block;
    if (current !== null) current.scrollTop = current.scrollHeight;
  }, [lines]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard
    <section class="lines" ref={block} tabIndex={0} aria-label={label}>
      <pre>
        {lines.map((line, index) => (
          <span class="line" key={index}>
            {index < lines.length - 1 ? `${line}\n` : line}
          </span>
        ))}
      </pre>
    </section>
  );
}

function Copy({ text }: { text: string }) {
  const [words, setWords] = useState("Copy");
  // A browser has no clipboard for a page without TLS, except on this machine.
  if (navigator.clipboard === undefined) return null;
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setWords("Copied"),
      () => setWords("Not copied"),
    );
  return <Button words={words} onClick={copy} />;
}

function Similar({ ids, pageOf }: { ids: readonly string[]; pageOf: Props["pageOf"] }) {
  const named: ComponentChildren[] = ids.flatMap((id, index) => [
    index === 0 ? "" : ", ",
    pageOf === undefined ? id : <Link to={pageOf(id)}>{id}</Link>,
  ]);
  return <p class="quiet">Failed in the same way, and have their log: {named}</p>;
}

function Button({ words, onClick }: { words: string; onClick: () => void }) {
  return (
    <button type="button" class="small" onClick={onClick}>
      {words}
    </button>
  );
}
