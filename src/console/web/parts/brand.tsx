import icon from "#console/web/icon.svg";

export function Brand() {
  return (
    <span class="brand">
      <img src={icon} alt="" width="22" height="22" />
      Vedette
    </span>
  );
}
