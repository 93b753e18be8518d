// Short messages over the page, on every size. What is read aloud stands in a live region of its own.

import { t } from "../messages";
import { announced, dismiss, toasts } from "../toasts";

export function Toasts() {
  return (
    <>
      <p class="visually-hidden" role="status">
        <span key={announced.value.number}>{announced.value.text}</span>
      </p>
      {toasts.value.length > 0 && (
        <section class="toasts" aria-label={t.hub.notifications}>
          {toasts.value.map((toast) => (
            <div key={toast.number} class={`toast ${toast.tone} slot-${toast.slot}`} data-about={toast.about}>
              <span>{toast.text}</span>
              <button type="button" class="quiet small" aria-label={t.hub.dismiss} onClick={() => dismiss(toast.number)}>
                ✕
              </button>
            </div>
          ))}
        </section>
      )}
    </>
  );
}
