// Adding a camera in three steps: its model, its network, its password.

import { useEffect, useState } from "preact/hooks";
import { ask, deviceAddress, Problem } from "../api";
import type { Air, Model, Network } from "../types";
import { Dialog, Faults, Name, Signal } from "./parts";

export type FieldFaults = Readonly<Record<string, string[]>>;

const STEPS = ["Model", "Network", "Password"];
/** Which step has which field. */
const STEP_OF: Record<string, number> = { codename: 0, ssid: 1, password: 2, name: 2 };
const SECURITY_WORDS: Record<string, string> = {
  open: "Open",
  owe: "Open, encrypted",
  wep: "WEP, not supported",
  wpa: "WPA",
  wpa2: "WPA2",
  "wpa2-wpa3": "WPA2/WPA3",
  wpa3: "WPA3",
  enterprise: "Enterprise, not supported",
};

export function AddCamera({ onClose }: { onClose: () => void }) {
  const [step, setStep] = useState(0);
  const [codename, setCodename] = useState("");
  const [ssid, setSsid] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [password, setPassword] = useState("");
  const [name, setName] = useState("");
  const [faults, setFaults] = useState<FieldFaults>({});
  const [isSaving, setSaving] = useState(false);

  const save = async () => {
    setSaving(true);
    const settings = { ssid, password: isOpen ? "" : password };
    const body = { codename, connection_type: "wifi", connection_settings: settings, ...(name.trim() ? { name } : {}) };
    try {
      await ask(deviceAddress(), { method: "POST", body });
      onClose();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const fields = Object.keys(error.fields).filter((field) => field in STEP_OF);
      setFaults(fields.length > 0 ? error.fields : { all: [error.message] });
      if (fields.length > 0) setStep(Math.min(...fields.map((field) => STEP_OF[field] ?? 2)));
      setSaving(false);
    }
  };

  const next = (event: Event) => {
    event.preventDefault();
    setFaults({});
    if (step < STEPS.length - 1) setStep(step + 1);
    else void save();
  };

  const canGoOn = [codename !== "", ssid !== "", isOpen || password !== ""][step];
  return (
    <Dialog title="Add a camera" onClose={onClose}>
      <ol class="steps">
        {STEPS.map((title, index) => (
          <li key={title} class={index < step ? "done" : ""} aria-current={index === step ? "step" : undefined}>
            {title}
          </li>
        ))}
      </ol>
      <form onSubmit={next} class="wizard">
        <div class="wizard-body">
          {step === 0 && <Models chosen={codename} onChoose={setCodename} />}
          {step === 1 && (
            <Networks
              ssid={ssid}
              onChoose={(chosen, network) => {
                setSsid(chosen);
                setOpen(network?.security === "open" || network?.security === "owe");
              }}
            />
          )}
          {step === 2 && (
            <>
              <p>
                Network <Name text={ssid} />
              </p>
              <label class="check">
                <input type="checkbox" checked={isOpen} onChange={(event) => setOpen(event.currentTarget.checked)} />
                The network is open and has no password
              </label>
              {!isOpen && (
                <label>
                  Password
                  <input
                    type="password"
                    autocomplete="off"
                    value={password}
                    onInput={(event) => setPassword(event.currentTarget.value)}
                    aria-invalid={Boolean(faults.password)}
                    aria-describedby="add-fault"
                  />
                  <small>It stands in the camera's Wi-Fi settings; 8 characters at least.</small>
                </label>
              )}
              <label>
                Name, if you like
                <input
                  type="text"
                  autocomplete="off"
                  value={name}
                  onInput={(event) => setName(event.currentTarget.value)}
                  placeholder={ssid}
                />
              </label>
            </>
          )}
          <Faults id="add-fault" sentences={[...shownFaults(faults, step)]} />
        </div>
        <div class="actions">
          <button type="button" onClick={() => (step === 0 ? onClose() : setStep(step - 1))}>
            {step === 0 ? "Cancel" : "Back"}
          </button>
          <span class="spread" />
          <button type="submit" class="primary" disabled={!canGoOn || isSaving}>
            {step < STEPS.length - 1 ? "Next" : "Add and connect"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function shownFaults(faults: FieldFaults, step: number): string[] {
  return Object.entries(faults)
    .filter(([field]) => field === "all" || STEP_OF[field] === step)
    .flatMap(([, sentences]) => sentences);
}

function Models({ chosen, onChoose }: { chosen: string; onChoose: (codename: string) => void }) {
  const [models, setModels] = useState<readonly Model[] | null>(null);
  const [fault, setFault] = useState("");
  useEffect(() => {
    ask<{ supported_devices: Model[] }>(deviceAddress("supported-devices/"))
      .then((answer) => setModels(answer.supported_devices))
      .catch((error: unknown) => setFault(error instanceof Problem ? error.message : "It did not work."));
  }, []);
  if (fault) return <Faults id="models-fault" sentences={[fault]} />;
  if (!models) return <progress aria-label="Reading the catalog" />;
  return (
    <fieldset class="choices">
      <legend>Which camera is it?</legend>
      {models.map((model) => (
        <label key={model.codename} class="choice">
          <input
            type="radio"
            name="model"
            value={model.codename}
            checked={chosen === model.codename}
            onChange={() => onChoose(model.codename)}
          />
          <span>{model.device_name}</span>
        </label>
      ))}
    </fieldset>
  );
}

interface NetworksProps {
  ssid: string;
  onChoose: (ssid: string, network?: Network) => void;
}

function Networks({ ssid, onChoose }: NetworksProps) {
  const [air, setAir] = useState<Air | null>(null);
  const [fault, setFault] = useState("");
  const [isSearching, setSearching] = useState(false);
  const search = async () => {
    setSearching(true);
    setFault("");
    try {
      setAir(await ask<Air>(deviceAddress("wifi/networks")));
    } catch (error) {
      setFault(error instanceof Problem ? error.message : "It did not work.");
    }
    setSearching(false);
  };
  useEffect(() => void search(), []);
  return (
    <>
      <fieldset class="choices" aria-busy={isSearching}>
        <legend>Networks in the air</legend>
        {isSearching && <progress aria-label="Searching" />}
        <Faults id="networks-fault" sentences={fault ? [fault] : undefined} />
        {air?.networks.map((network) => (
          <NetworkChoice key={network.ssid_hex + network.security} network={network} chosen={ssid} onChoose={onChoose} />
        ))}
        {air && !isSearching && <p>{remark(air)}</p>}
        <button type="button" disabled={isSearching} onClick={() => void search()}>
          Search again
        </button>
      </fieldset>
      <label>
        Or type its name
        <input
          type="text"
          autocomplete="off"
          spellcheck={false}
          value={ssid}
          onInput={(event) => onChoose(event.currentTarget.value)}
          aria-describedby="add-fault"
        />
      </label>
    </>
  );
}

/** What to say of a search beside what it heard. */
function remark(air: Air): string {
  if (air.scanned_interfaces.length > 0) return air.networks.length > 0 ? "" : "None was heard. Is the camera's Wi-Fi on?";
  const reasons = Object.entries(air.skipped_interfaces).map(([name, why]) => `${name}: ${why}`);
  if (reasons.length === 0) return "No Wi-Fi adapter is plugged in.";
  const old = air.networks.length > 0 ? "What you see was heard before." : "You can type the name.";
  return `No adapter is free to search (${reasons.join("; ")}). ${old}`;
}

interface NetworkChoiceProps {
  network: Network;
  chosen: string;
  onChoose: (ssid: string, network: Network) => void;
}

function NetworkChoice({ network, chosen, onChoose }: NetworkChoiceProps) {
  const isText = !network.ssid.includes("\ufffd");
  const usable = isText && network.security !== "enterprise" && network.security !== "wep";
  const notes = [
    SECURITY_WORDS[network.security] ?? network.security,
    network.bands.join(", "),
    ...(network.device_id === null ? [] : ["registered already"]),
    ...(isText ? [] : ["its name is no text: add it with wifimgrctl add --ssid-hex"]),
  ];
  return (
    <label class="choice">
      <input
        type="radio"
        name="network"
        disabled={!usable}
        checked={chosen === network.ssid}
        onChange={() => onChoose(network.ssid, network)}
      />
      <span>
        <Name text={network.ssid} />
        <small>{notes.join(" · ")}</small>
      </span>
      <Signal percent={network.signal_strength} />
    </label>
  );
}
