// The token that the hub asks for.

import { useState } from "preact/hooks";
import { ask, Problem } from "../api";
import { joinNow } from "../channel";
import { Faults } from "./parts";

export function Login() {
  const [token, setToken] = useState("");
  const [fault, setFault] = useState("");
  const open = async (event: Event) => {
    event.preventDefault();
    try {
      await ask("session", { method: "POST", body: { token } });
      joinNow();
    } catch (error) {
      setFault(error instanceof Problem && error.status === 401 ? "That is not the token." : String((error as Error).message));
    }
  };
  return (
    <main class="login">
      <form onSubmit={(event) => void open(event)}>
        <h1>Camera hub</h1>
        <label>
          Access token
          <input
            type="password"
            autocomplete="current-password"
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
            aria-describedby="login-fault"
          />
          <small>It stands in the file that [http] token_file names on the host.</small>
        </label>
        <Faults id="login-fault" sentences={fault ? [fault] : undefined} />
        <button type="submit" class="primary" disabled={!token}>
          Open
        </button>
      </form>
    </main>
  );
}
