// The token that the hub asks for.

import { useEffect, useRef, useState } from "preact/hooks";
import { Problem, request } from "../api";
import { joinNow } from "../channel";
import { t } from "../messages";
import { Faults } from "./parts";

export function Login() {
  const [token, setToken] = useState("");
  const [fault, setFault] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const open = async (event: Event) => {
    event.preventDefault();
    try {
      await request("session", { method: "POST", body: { token } });
      joinNow();
    } catch (error) {
      setFault(error instanceof Problem && error.status === 401 ? t.login.wrong : String((error as Error).message));
    }
  };
  return (
    <main class="login">
      <form onSubmit={(event) => void open(event)}>
        <h1>{t.hub.title}</h1>
        <label>
          {t.login.token}
          <input
            ref={field}
            type="password"
            autocomplete="current-password"
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
            aria-describedby="login-fault"
          />
          <small>{t.login.hint}</small>
        </label>
        <Faults id="login-fault" sentences={fault ? [fault] : undefined} />
        <button type="submit" class="primary" disabled={!token}>
          {t.login.open}
        </button>
      </form>
    </main>
  );
}
