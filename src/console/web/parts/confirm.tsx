/** Asks before something changes, and names what will happen. */
import { effect, signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { session } from "#console/web/api.ts";

export type Question = {
  title: string;
  /** What will happen, one sentence each. */
  lines: string[];
  /** On the button: what it does, in a word or two. */
  verb: string;
  isGrave: boolean;
  run: () => Promise<unknown>;
};

const question = signal<Question | undefined>(undefined);

// It was one person's: whoever signs in next is not asked it.
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
    // An order that ends late may find another question, of another person.
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
          Leave it as it is
        </button>
        <button
          type="button"
          class={isGrave ? "grave" : "main"}
          disabled={isBusy}
          onClick={() => void go()}
        >
          {isBusy ? "Asking…" : verb}
        </button>
      </div>
    </dialog>
  );
}
