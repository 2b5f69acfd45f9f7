import { useEffect, useRef, useState } from "preact/hooks";
import { signIn } from "#console/web/api.ts";

/** `isFirst`: there is no other way to sign in. */
export function TokenForm({ isFirst }: { isFirst: boolean }) {
  const field = useRef<HTMLInputElement>(null);
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    if (isFirst) field.current?.focus();
  }, [isFirst]);
  const send = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      await signIn(field.current?.value ?? "");
    } catch (problem) {
      setError((problem as Error).message);
      setBusy(false);
      field.current?.select();
    }
  };
  return (
    <form onSubmit={(event) => void send(event)}>
      <label>
        <span class="label">Token</span>
        <input
          ref={field}
          type="password"
          name="token"
          autoComplete="current-password"
          required
          aria-invalid={error !== undefined}
          aria-describedby="token-hint token-error"
        />
      </label>
      <p id="token-hint" class="hint">
        Your own operator token, under whose name changes are recorded; or the ingress token, which
        is in <code>credentials.json</code> of the data directory.
        {isFirst && (
          <>
            {" "}
            On that machine, <code>npx vedette console</code> prints a link that signs in.
          </>
        )}
      </p>
      <p id="token-error" role="alert" class={error === undefined ? "visually-hidden" : "refused"}>
        {error}
      </p>
      <button type="submit" class={isFirst ? "main" : ""} disabled={isBusy}>
        {isBusy ? "Signing in…" : isFirst ? "Sign in" : "Sign in with the token"}
      </button>
    </form>
  );
}
