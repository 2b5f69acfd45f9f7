import { useEffect, useRef, useState } from "preact/hooks";
import { signedOutBecause, signIn } from "#console/web/api.ts";
import { Brand } from "#console/web/parts/brand.tsx";
import { Notice } from "#console/web/parts/notice.tsx";

export function SignInPage() {
  const field = useRef<HTMLInputElement>(null);
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    document.title = "Sign in · Vedette";
    field.current?.focus();
  }, []);
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
    <main class="sign-in">
      <form onSubmit={(event) => void send(event)}>
        <h1>
          <Brand />
        </h1>
        {signedOutBecause.value !== null && <Notice tone="warn">{signedOutBecause.value}</Notice>}
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
          Your own operator token, or the ingress token. Changes are recorded under your name.
        </p>
        <p
          id="token-error"
          role="alert"
          class={error === undefined ? "visually-hidden" : "refused"}
        >
          {error}
        </p>
        <button type="submit" class="main" disabled={isBusy}>
          {isBusy ? "Signing in…" : "Sign in"}
        </button>
      </form>
    </main>
  );
}
