// The user and the password at the broker: kept by the library in memory, and nowhere else.

import { useEffect, useRef, useState } from "preact/hooks";
import { fleetWords } from "../../messages/fleet";
import { Faults } from "../../views/parts";
import { address, link, reason, signIn } from "../broker";

export function SignIn() {
  const [user, setUser] = useState("");
  const [password, setPassword] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const fault = reason.value;
  useEffect(() => field.current?.focus(), [fault]);
  const isConnecting = link.value === "connecting";
  const enter = (event: Event) => {
    event.preventDefault();
    if (!isConnecting) void signIn(user, password);
  };
  return (
    <main class="login">
      <form onSubmit={enter}>
        <h1>{fleetWords.title}</h1>
        {address ? <small>{fleetWords.broker(address)}</small> : <p class="fault">{fleetWords.noBroker}</p>}
        {!isSecureContext && <p class="warning">{fleetWords.insecure}</p>}
        <label>
          {fleetWords.user}
          <input
            ref={field}
            autocomplete="username"
            autocapitalize="none"
            spellcheck={false}
            value={user}
            onInput={(event) => setUser(event.currentTarget.value)}
            aria-describedby="sign-in-fault"
          />
        </label>
        <label>
          {fleetWords.password}
          <input
            type="password"
            autocomplete="current-password"
            value={password}
            onInput={(event) => setPassword(event.currentTarget.value)}
            aria-describedby="sign-in-fault"
          />
          <small>{fleetWords.signInHint}</small>
        </label>
        <Faults id="sign-in-fault" sentences={fault ? [fault] : undefined} />
        <button type="submit" class="primary" disabled={!address} aria-busy={isConnecting}>
          {isConnecting ? fleetWords.connecting : fleetWords.signIn}
        </button>
      </form>
    </main>
  );
}
