/** Which fleet takes an image only after another one. */
import { may } from "#console/web/may.ts";
import { Notice, Waiting } from "#console/web/parts/notice.tsx";
import { PromotionForm } from "#console/web/promotions/promotion-form.tsx";
import { PromotionTable } from "#console/web/promotions/promotion-table.tsx";
import { useRead } from "#console/web/use-read.ts";

export function PromotionsPage() {
  const { data, error, reload } = useRead("promotions", {}, 10_000);
  if (data === undefined) return <Waiting error={error} />;
  return (
    <>
      <div class="page-head">
        <div>
          <h1>Promotions</h1>
          <p>Which fleet takes an image only after another one has completed it.</p>
        </div>
      </div>
      {error !== undefined && <Notice tone="warn">{error}</Notice>}
      <div class="sides">
        <PromotionTable promotions={data.promotions} reload={reload} />
        {may("operate") && <PromotionForm reload={reload} />}
      </div>
    </>
  );
}
