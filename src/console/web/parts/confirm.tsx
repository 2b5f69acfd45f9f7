/** Asks for confirmation before a change, and says what will happen. */
import { effect, signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { session } from "#console/web/api.ts";

export type Question = {
  title: string;
  /** What will happen, one sentence each. */
  lines: string[];
  /** The label of the button. */
  verb: string;
  isGrave: boolean;
  run: () => Promise<unknown>;
};

const question = signal<Question | undefined>(undefined);

// The question belongs to one session: the next operator who signs in must not see it.
effect(() => {
  if (session.value === null) question.value = undefined;
});

export function ask(what: Question): void {
  question.value = what;
}

export function Confirmation() {
  const asked = question.value;
  return asked === undefined ? null : <Dialog key={asked.title} {...asked} />;
}

function Dialog({ title, lines, verb, isGrave, run }: Question) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  const close = () => {
    // An operation that ends late may find another question, of another session.
    if (question.value?.run === run) question.value = undefined;
  };
  const go = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await run();
      close();
    } catch (problem) {
      setError((problem as Error).message);
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} class="confirm" aria-labelledby="confirm-title" onClose={close}>
      <h2 id="confirm-title">{title}</h2>
      {lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
      {error !== undefined && (
        <p role="alert" class="refused">
          {error}
        </p>
      )}
      <div class="row end">
        <button type="button" onClick={close}>
          Go back
        </button>
        <button
          type="button"
          class={isGrave ? "grave" : "main"}
          disabled={isBusy}
          onClick={() => void go()}
        >
          {isBusy ? "Sending…" : verb}
        </button>
      </div>
    </dialog>
  );
}
