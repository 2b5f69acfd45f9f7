import { useEffect, useRef, useState } from "preact/hooks";
import type { SignInChoice } from "#console/contract.ts";
import { readSignInChoice, signedOutBecause, signIn, signInAtProvider } from "#console/web/api.ts";
import icon from "#console/web/icon.svg";
import { Notice } from "#console/web/parts/blocks.tsx";
import { tryUntilDone } from "#console/web/retry.ts";

export function SignInPage() {
  const [choice, setChoice] = useState<SignInChoice>();
  useEffect(() => {
    document.title = "Sign in · Vedette";
    // Until it is answered, and once: the answer's note is not given again.
    return tryUntilDone(async () => setChoice(await readSignInChoice()));
  }, []);
  return (
    <main class="sign-in">
      <div class="sign-in-box">
        <h1>
          <Brand />
        </h1>
        {signedOutBecause.value !== null && <Notice tone="warn">{signedOutBecause.value}</Notice>}
        {choice === undefined ? (
          <p class="quiet">Connecting to the server…</p>
        ) : (
          <Ways choice={choice} />
        )}
      </div>
    </main>
  );
}

function Ways({ choice: { provider, trouble } }: { choice: SignInChoice }) {
  if (provider === null) return <TokenForm isFirst />;
  return (
    <>
      <ProviderButton provider={provider} trouble={trouble ?? undefined} />
      <p class="or" aria-hidden="true">
        or
      </p>
      <TokenForm isFirst={false} />
    </>
  );
}

/** `trouble`: why the sign-in failed from which the browser comes. */
function ProviderButton(props: { provider: string; trouble: string | undefined }) {
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

/** `isFirst`: there is no other way to sign in. */
function TokenForm({ isFirst }: { isFirst: boolean }) {
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

export function Brand() {
  return (
    <span class="brand">
      <img src={icon} alt="" width="22" height="22" />
      Vedette
    </span>
  );
}
