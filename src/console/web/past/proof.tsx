/** Offers the signed proof of a rollout that has ended as a file, as `vedette rollout proof` writes it. */
import { useState } from "preact/hooks";
import { read } from "#console/web/api.ts";
import { Notice, Panel } from "#console/web/parts/blocks.tsx";

/** Made at the rollout's end; a later change of it makes another one. */
export function Proof({ id }: { id: string }) {
  const [isReading, setReading] = useState(false);
  const [failure, setFailure] = useState<string>();
  const download = async () => {
    setReading(true);
    try {
      const proof = await read("RolloutProofs/Read", { rollout_id: id });
      saveAs(`proof-${id}.json`, `${JSON.stringify(proof)}\n`);
      setFailure(undefined);
    } catch (problem) {
      setFailure((problem as Error).message);
    } finally {
      setReading(false);
    }
  };
  return (
    <Panel title="Proof">
      <p class="quiet">
        Signed: image and digest, who started and approved it, its waves and gates. Verify it by{" "}
        <code>vedette rollout proof verify</code> with the keys of this installation.
      </p>
      <button type="button" disabled={isReading} onClick={download}>
        Download the proof
      </button>
      {failure !== undefined && <Notice tone="bad">{failure}</Notice>}
    </Panel>
  );
}

/** Has the browser write a file. */
function saveAs(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
