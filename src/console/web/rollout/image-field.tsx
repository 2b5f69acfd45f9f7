/** The image of a new rollout: free text, with the images that were seen in a list below it. */
import { useId, useState } from "preact/hooks";
import { Field, type FormPart, faultOf, markOf } from "#console/web/parts/form.tsx";
import { Sign } from "#console/web/parts/mark.tsx";
import { useRead } from "#console/web/use-read.ts";
import type { StartFields } from "./request.ts";
import { type Suggestion, sightOf, suggest } from "./suggestions.ts";

/** A combobox as in W3C's "ARIA Authoring Practices Guide": the focus stays in the field, keys walk over the list. */
export function ImageField({ fields, faults, change }: FormPart<StartFields>) {
  const { data } = useRead("images", {});
  const images = data?.images ?? [];
  const list = useList(suggest(fields.image, images), ({ text, isStart }) => {
    change({ image: text });
    return isStart;
  });
  return (
    <div class="combobox">
      <Field
        name="Image"
        hint="{registry}/{repository}:{tag} or {registry}/{repository}@{digest}."
        fault={faultOf("image", faults)}
      >
        <input
          {...markOf("image", faults)}
          {...list.field}
          class="mono"
          name="image"
          required
          autoComplete="off"
          spellcheck={false}
          value={fields.image}
          onInput={(event) => {
            change({ image: event.currentTarget.value });
            list.open();
          }}
        />
      </Field>
      {list.isOpen && <Suggestions list={list} />}
      <Sight text={fields.image} sight={data && sightOf(fields.image, images)} />
    </div>
  );
}

type List = ReturnType<typeof useList>;

/** `choose` returns whether the list stays open. */
function useList(options: readonly Suggestion[], choose: (option: Suggestion) => boolean) {
  const id = useId();
  const [isWanted, setWanted] = useState(false);
  const [active, setActive] = useState<number>();
  const isOpen = isWanted && options.length > 0;
  const close = () => {
    setWanted(false);
    setActive(undefined);
  };
  const take = (index: number) => {
    const option = options[index];
    if (option === undefined) return;
    setActive(undefined);
    setWanted(choose(option));
  };
  const walk = (step: 1 | -1) => {
    setWanted(true);
    if (options.length > 0) setActive(nextIndex(active, step, options.length));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const act = actionOf(event, { isOpen, active, walk, take, close });
    if (act === undefined) {
      // It sends the form, whose answer the list would cover.
      if (event.key === "Enter") close();
      return;
    }
    event.preventDefault();
    act();
  };
  const open = () => {
    setActive(undefined);
    setWanted(true);
  };
  const field = {
    role: "combobox",
    "aria-expanded": isOpen,
    "aria-controls": isOpen ? id : undefined,
    "aria-autocomplete": "list",
    "aria-activedescendant": isOpen && active !== undefined ? `${id}-${active}` : undefined,
    onKeyDown,
    onClick: open,
    onBlur: close,
  } as const;
  return { id, isOpen, options, active, take, open, field };
}

/** The option that a step leads to: from none to the first or the last one, and around from there. */
function nextIndex(active: number | undefined, step: 1 | -1, length: number): number {
  const from = active ?? (step === 1 ? -1 : 0);
  return (from + step + length) % length;
}

type Actions = {
  isOpen: boolean;
  active: number | undefined;
  walk: (step: 1 | -1) => void;
  take: (index: number) => void;
  close: () => void;
};

/** undefined: the key is the field's own, or the form's. */
function actionOf({ key }: KeyboardEvent, list: Actions): (() => void) | undefined {
  const { isOpen, active, walk, take, close } = list;
  if (key === "ArrowDown") return () => walk(1);
  if (key === "ArrowUp") return () => walk(-1);
  if (!isOpen) return undefined;
  if (key === "Escape") return close;
  return key === "Enter" && active !== undefined ? () => take(active) : undefined;
}

function Suggestions({ list: { id, options, active, take } }: { list: List }) {
  return (
    <div id={id} role="listbox" aria-label="Seen before" class="suggestions">
      {options.map(({ text, note }, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field, which keeps the focus
        <div
          key={text}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === active}
          ref={(element) => {
            if (index === active) element?.scrollIntoView({ block: "nearest" });
          }}
          onPointerDown={(event) => event.preventDefault()}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => take(index)}
        >
          <span class="mono">{text}</span> <span class="quiet small-text">{note}</span>
        </div>
      ))}
    </div>
  );
}

function Sight({ text, sight }: { text: string; sight: ReturnType<typeof sightOf> }) {
  return (
    <p class="hint" role="status">
      {text !== "" && sight !== undefined && (
        <>
          <Sign tone={sight.isSeen ? "info" : "warn"} /> {sight.words}
        </>
      )}
    </p>
  );
}
