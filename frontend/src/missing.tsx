// What stands at addresses where nothing is: the way to the hub's page.

import { render } from "preact";
import { t } from "./messages";
import { docsWords } from "./messages/docs";

const root = document.querySelector<HTMLMetaElement>('meta[name="wifimgrd-root"]')?.content || "./";

const page = document.getElementById("page");
if (page) {
  render(
    <>
      <header>
        <h1>{t.hub.title}</h1>
      </header>
      <main id="content">
        <div class="empty">
          <p>{t.hub.missing(location.pathname)}</p>
          {/\/fleet\/?$/.test(location.pathname) && <p>{t.hub.noFleet}</p>}
          <p>
            <a href={root}>{docsWords.back}</a> · <a href={`${root}docs`}>{t.hub.api}</a>
          </p>
        </div>
      </main>
    </>,
    page,
  );
}
