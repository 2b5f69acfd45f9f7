import icon from "#console/web/icon.svg";

export function Brand() {
  return (
    <span class="brand">
      {/* biome-ignore lint/performance/noImgElement: there is no other one here */}
      <img src={icon} alt="" width="22" height="22" />
      Vedette
    </span>
  );
}
