import { useEffect, useRef, useState } from "preact/hooks";
import { signInAtProvider } from "#console/web/api.ts";

/** `trouble`: why the sign-in failed from which the browser comes. */
export function ProviderButton(props: { provider: string; trouble: string | undefined }) {
  const button = useRef<HTMLButtonElement>(null);
  const [error, setError] = useState(props.trouble);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => button.current?.focus(), []);
  useEffect(() => {
    // A browser may show the page as it was left when somebody comes back without signing in.
    const again = () => setBusy(false);
    addEventListener("pageshow", again);
    return () => removeEventListener("pageshow", again);
  }, []);
  const begin = async () => {
    if (isBusy) return;
    setBusy(true);
    setError(undefined);
    try {
      await signInAtProvider(`${location.pathname}${location.search}`);
    } catch (problem) {
      setError((problem as Error).message);
      setBusy(false);
    }
  };
  return (
    <>
      <p role="alert" class={error === undefined ? "visually-hidden" : "refused"}>
        {error}
      </p>
      <button
        ref={button}
        type="button"
        class="main"
        // A disabled button would lose the focus, and with it whoever has no mouse.
        aria-disabled={isBusy}
        onClick={() => void begin()}
      >
        {isBusy ? "Going there…" : `Sign in with ${props.provider}`}
      </button>
    </>
  );
}
