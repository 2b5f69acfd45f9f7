import { useEffect, useState } from "preact/hooks";
import type { SignInChoice } from "#console/contract.ts";
import { readSignInChoice, signedOutBecause } from "#console/web/api.ts";
import { Brand } from "#console/web/parts/brand.tsx";
import { Notice } from "#console/web/parts/notice.tsx";
import { tryUntilDone } from "#console/web/retry.ts";
import { ProviderButton } from "#console/web/sign-in/provider-button.tsx";
import { TokenForm } from "#console/web/sign-in/token-form.tsx";

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
