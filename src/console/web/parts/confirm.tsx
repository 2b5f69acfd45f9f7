/** Asks for confirmation before a change, and says what will happen. */
import { effect, signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { chosenFleet } from "#console/web/chosen-fleet.ts";
import { session } from "#console/web/session.ts";

export type Question = {
  title: string;
  /** The sentences that say what will happen. */
  lines: string[];
  verb: string;
  isGrave: boolean;
  /** A choice, or a text without which, unless it is optional, the button does nothing. */
  field?: { label: string; kind: "tick" | "text"; isOptional?: true; isTicked?: true };
  /** The same for a choice that was changed. Absent: the choice changes none of these words. */
  follow?: (isTicked: boolean) => Pick<Question, "lines" | "verb">;
  run: (given: Given) => Promise<unknown>;
};

/** The answer that the operator has given in the field. */
export type Given = { isTicked: boolean; text: string };

const question = signal<Question | undefined>(undefined);

// The question belongs to one session: the next operator who signs in must not see it.
effect(() => {
  if (session.value === null) question.value = undefined;
});

// It is about the fleet that was shown when it was asked.
effect(() => {
  if (chosenFleet.value !== "") question.value = undefined;
});

export function ask(what: Question): void {
  question.value = what;
}

const otherSession =
  "Somebody has signed in in another tab of this browser. Nothing was done; go back and look again.";

export function Confirmation() {
  const asked = question.value;
  return asked === undefined ? null : <Dialog key={asked.title} {...asked} />;
}

function Dialog(asked: Question) {
  const { title, isGrave, field, run } = asked;
  const dialog = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const [given, setGiven] = useState<Given>({ isTicked: field?.isTicked === true, text: "" });
  const { lines, verb } = asked.follow?.(given.isTicked) ?? asked;
  const isTextDue = field?.kind === "text" && field.isOptional !== true;
  const isComplete = !isTextDue || given.text.trim() !== "";
  const [askedIn] = useState(session.value?.csrf);
  const isOfOthers = session.value?.csrf !== askedIn;
  const refusal = isBusy ? undefined : (error ?? (isOfOthers ? otherSession : undefined));
  useEffect(() => dialog.current?.showModal(), []);
  const close = () => {
    // An operation that ends late may find another question, of another session.
    if (question.value?.run === run) question.value = undefined;
  };
  const go = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await run(given);
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
      {field !== undefined && <Field {...field} given={given} change={setGiven} />}
      {refusal !== undefined && (
        <p role="alert" class="refused">
          {refusal}
        </p>
      )}
      <div class="row end">
        <button type="button" onClick={close}>
          Go back
        </button>
        <button
          type="button"
          class={isGrave ? "grave" : "main"}
          disabled={isBusy || !isComplete || isOfOthers}
          onClick={() => void go()}
        >
          {isBusy ? "Sending…" : verb}
        </button>
      </div>
    </dialog>
  );
}

type FieldProps = NonNullable<Question["field"]> & { given: Given; change: (given: Given) => void };

function Field({ label, kind, given, change }: FieldProps) {
  if (kind === "tick") {
    return (
      <label class="tick">
        <input
          type="checkbox"
          checked={given.isTicked}
          onChange={(event) => change({ ...given, isTicked: event.currentTarget.checked })}
        />
        {label}
      </label>
    );
  }
  return (
    <label>
      <span class="label">{label}</span>
      <input
        maxLength={500}
        autoComplete="off"
        value={given.text}
        onInput={(event) => change({ ...given, text: event.currentTarget.value })}
      />
    </label>
  );
}
